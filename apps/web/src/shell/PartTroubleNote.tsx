import { useLayoutEffect, useRef } from "react";
import { useStore } from "../store";
import type { Part } from "./part";

/** Stands where a part could not be loaded, and offers to load it again. */
export function PartTroubleNote({ part }: { part: Part<unknown> }) {
  const { trouble, isLoading } = useStore(part);
  const button = useRef<HTMLButtonElement>(null);
  // The button goes with the trouble. Whoever pressed it goes on in its place.
  useLayoutEffect(() => {
    const element = button.current;
    const place = element?.closest(".empty")?.parentElement;
    return () => {
      if (document.activeElement === element) focusOnce(place);
    };
  }, []);
  const isAway = trouble === "unreachable";
  return (
    <div className="empty" role="alert">
      <h2>This could not be loaded</h2>
      <p>
        {isAway
          ? "The server does not respond. Load it again when the server is back."
          : "The server may have been updated since this page was loaded. Reload the page: the message that you are writing is kept."}
      </p>
      <button
        ref={button}
        type="button"
        className="button"
        aria-disabled={isLoading}
        onClick={() => {
          if (isLoading) return;
          if (isAway) void part.load();
          else location.reload();
        }}
      >
        {isLoading ? "Loading…" : isAway ? "Load again" : "Reload the page"}
      </button>
    </div>
  );
}

/** Focuses what may not be focusable, until the focus moves on. */
function focusOnce(place: HTMLElement | null | undefined): void {
  if (place == null) return;
  if (!place.hasAttribute("tabindex")) {
    place.tabIndex = -1;
    place.addEventListener("blur", () => place.removeAttribute("tabindex"), { once: true });
  }
  place.focus({ preventScroll: true });
}
