import type { MouseEvent } from "react";

/** A link that stays in this page, unless the person wants another tab. */
export function inPage(go: () => void) {
  return (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go();
  };
}
