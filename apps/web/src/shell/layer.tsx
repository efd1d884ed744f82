import { createContext, type ReactNode, useContext, useEffect } from "react";
import { createStore } from "../store";

/*
 * Dialogs and drawers lie on top of each other, each a layer. What lies below the top one is covered: nobody sees it, even if
 * it is within the window.
 */

const openStore = createStore<readonly number[]>([]);
const LayerContext = createContext(0);

/** The number of the layer that can be seen. */
export const topLayerStore = {
  read: () => Math.max(0, ...openStore.read()),
  subscribe: openStore.subscribe,
};

/** The layer that a component lies in; 0 is the page itself. */
export function useLayer(): number {
  return useContext(LayerContext);
}

/** The content of a dialog or drawer that covers what is below it. */
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
