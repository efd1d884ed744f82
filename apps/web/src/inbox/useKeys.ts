import { useEffect, useRef } from "react";
import { guardDecisions, isGuarded } from "../tools/guard";
import { actionOfEvent, type KeyAction } from "./keys";

/** Calls the latest of these functions when its key is pressed, anywhere in the page. */
export function useKeys(actions: Partial<Record<KeyAction, () => void>>): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const action = actionOfEvent(event);
      const act = action && latest.current[action];
      if (act === undefined) return;
      event.preventDefault();
      // Somebody who types on does not mean a request that has just come: the moment lasts until they pause.
      if (isGuarded()) guardDecisions();
      act();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}
