import type { RefObject } from "react";
import { createStore, useStore } from "../store";
import { useSteady } from "./steady";

/** A second click of a double-click comes within this time. */
const AFTER_DECISION_MS = 700;

const guardStore = createStore(false);
let timer: ReturnType<typeof setTimeout> | undefined;

/** A decision was made: for a moment nothing else can be decided, wherever it is. */
export function guardDecisions(): void {
  guardStore.write(true);
  clearTimeout(timer);
  timer = setTimeout(() => guardStore.write(false), AFTER_DECISION_MS);
}

/** Not in that moment either: the second click of a double-click opens nothing. */
export function unlessGuarded(action: () => void): () => void {
  return () => {
    if (!guardStore.read()) action();
  };
}

/** Whether buttons that decide something can be used: no other decision was made just now, and they have stood still. */
export interface Armed {
  isArmed: boolean;
  /** Asked once more at the moment of the click. A key is pressed for what has the focus, wherever that has moved. */
  accepts: (event: { detail: number }) => boolean;
}

export function useArmed(element: RefObject<HTMLElement | null>): Armed {
  const isGuarded = useStore(guardStore);
  const [isSteady, isSteadyNow] = useSteady(element);
  return {
    isArmed: isSteady && !isGuarded,
    accepts: ({ detail }) => !guardStore.read() && (detail === 0 || isSteadyNow()),
  };
}
