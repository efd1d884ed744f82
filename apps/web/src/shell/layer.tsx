import { createContext, type ReactNode, useContext, useEffect } from "react";
import { createStore } from "../store";

/*
 * Dialogs and drawers are stacked layers. Everything below the top layer is covered: it is not visible, even inside the
 * viewport.
 */

const openStore = createStore<readonly number[]>([]);
const LayerContext = createContext(0);

/** The number of the visible layer. */
export const topLayerStore = {
  read: () => Math.max(0, ...openStore.read()),
  subscribe: openStore.subscribe,
};

/** The layer of a component; 0 is the page itself. */
export function useLayer(): number {
  return useContext(LayerContext);
}

/** The content of a dialog or drawer that covers the layers below. */
export function Layer({ children }: { children: ReactNode }) {
  const layer = useLayer() + 1;
  useEffect(() => {
    openStore.write((open) => [...open, layer]);
    return () => {
      openStore.write((open) => {
        const at = open.indexOf(layer);
        return [...open.slice(0, at), ...open.slice(at + 1)];
      });
    };
  }, [layer]);
  return <LayerContext value={layer}>{children}</LayerContext>;
}
