import { type RefObject, useEffect, useState } from "react";

/*
 * An element that has just appeared, or was moved by content above it, is not what the user aimed at. One that the user
 * scrolled is.
 */

const STEADY_MS = 350;
/** The longest time before a move without a document change, such as a loaded font, is noticed. */
const SAMPLE_MS = 100;

interface Place {
  left: number;
  top: number;
}

interface Watched {
  scroller: Element | null;
  where: Place;
  since: number;
  isSteady: boolean;
  onChange: (isSteady: boolean) => void;
}

const watched = new Map<HTMLElement, Watched>();
let stop: (() => void) | undefined;

/** The page has scrolled itself: something else is under the pointer now. */
export function unsettle(): void {
  for (const each of watched.values()) each.since = performance.now();
}

/** Whether an element has stayed in place inside its scroll container. */
export function useSteady(element: RefObject<HTMLElement | null>): [isSteady: boolean, isSteadyNow: () => boolean] {
  const [isSteady, setIsSteady] = useState(false);

  useEffect(() => {
    const target = element.current;
    if (target === null) return;
    const scroller = scrollerOf(target);
    const since = performance.now();
    watched.set(target, { scroller, where: whereIs(target, scroller), since, isSteady: false, onChange: setIsSteady });
    stop ??= start();
    return () => {
      watched.delete(target);
      if (watched.size > 0) return;
      stop?.();
      stop = undefined;
    };
  }, [element]);

  const isSteadyNow = () => {
    const each = element.current === null ? undefined : watched.get(element.current);
    if (each === undefined || element.current === null) return false;
    const isThere = !isElsewhere(each.where, whereIs(element.current, each.scroller));
    return isThere && performance.now() - each.since >= STEADY_MS;
  };
  return [isSteady, isSteadyNow];
}

/** Checks in the frame after every document change, and at intervals. */
function start(): () => void {
  let frame: number | undefined;
  const observer = new MutationObserver(() => {
    frame ??= requestAnimationFrame(() => {
      frame = undefined;
      look();
    });
  });
  observer.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
  const sampling = setInterval(look, SAMPLE_MS);
  return () => {
    observer.disconnect();
    clearInterval(sampling);
    if (frame !== undefined) cancelAnimationFrame(frame);
  };
}

function look(): void {
  const now = performance.now();
  for (const [element, each] of watched) {
    const where = whereIs(element, each.scroller);
    if (isElsewhere(each.where, where)) {
      each.where = where;
      each.since = now;
    }
    const isSteady = now - each.since >= STEADY_MS;
    if (isSteady === each.isSteady) continue;
    each.isSteady = isSteady;
    each.onChange(isSteady);
  }
}

function whereIs(element: HTMLElement, scroller: Element | null): Place {
  const { left, top } = element.getBoundingClientRect();
  return { left, top: top + (scroller?.scrollTop ?? 0) };
}

/** A few pixels are rounding. */
function isElsewhere(before: Place, now: Place): boolean {
  return Math.abs(before.left - now.left) > 3 || Math.abs(before.top - now.top) > 3;
}

function scrollerOf(element: Element): Element | null {
  for (let above = element.parentElement; above !== null; above = above.parentElement) {
    if (/auto|scroll/.test(getComputedStyle(above).overflowY)) return above;
  }
  return null;
}
