import type { RefObject } from "react";
import { createStore, useStore } from "../store";
import { useSteady } from "./steady";

/** The second click of a double-click comes within this time. */
const AFTER_DECISION_MS = 700;

const guardStore = createStore(false);
let timer: ReturnType<typeof setTimeout> | undefined;

/** After a decision, blocks every other decision for a moment, anywhere on the page. */
export function guardDecisions(): void {
  guardStore.write(true);
  clearTimeout(timer);
  timer = setTimeout(() => guardStore.write(false), AFTER_DECISION_MS);
}

/** Whether decisions are blocked just now. */
export function isGuarded(): boolean {
  return guardStore.read();
}

/** The same for a component. */
export function useGuarded(): boolean {
  return useStore(guardStore);
}

/** Ignores an action in that moment, so that the second click of a double-click opens nothing. */
export function unlessGuarded(action: () => void): () => void {
  return () => {
    if (!guardStore.read()) action();
  };
}

/** Whether decision buttons can be used: no other decision was made just now, and they have not moved. */
export interface Armed {
  isArmed: boolean;
  /** Checked again on the click itself. A key press goes to the focused element, wherever it has moved. */
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
