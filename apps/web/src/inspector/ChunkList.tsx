import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useCallback, useLayoutEffect, useRef, useState } from "react";
import { ChunkRow } from "./ChunkRow";
import type { Entry } from "./entry";

interface Props {
  entries: readonly Entry[];
  /** The time from which offsets are counted. */
  start: number;
  /** The checker's violations, by entry. */
  flagged: ReadonlyMap<number, string>;
}

/** The height of a closed row. Others are measured. */
const ROW_PX = 26;
/** Rows that are rendered before they are in view. */
const OVERSCAN = 10;
/** How many rows Page Up and Page Down pass. */
const PAGE = 15;
const NEAR_END_PX = 40;

/**
 * Every record: its time, response and size. Only the rows in view are in the document. The arrow keys move between all
 * of them; the Tab key goes to the one that was last used.
 */
export function ChunkList({ entries, start, flagged }: Props) {
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const [active, setActive] = useState<number>();
  const scroller = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  /** The scroll position that was last seen or set. */
  const lastTop = useRef(0);
  const isFocusWanted = useRef(false);
  const last = entries.length - 1;
  const position = active === undefined ? -1 : entries.findIndex(({ index }) => index === active);
  const reachable = position === -1 ? last : position;

  const rows = useVirtualizer({
    count: entries.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    getItemKey: (at) => entries[at]?.index ?? at,
    overscan: OVERSCAN,
    // Rows are measured while React renders, where nothing may be flushed.
    useFlushSync: false,
    // A row with the focus stays, wherever the list is scrolled to.
    rangeExtractor: useCallback(
      (range: Parameters<typeof defaultRangeExtractor>[0]) =>
        [...new Set([...defaultRangeExtractor(range), reachable])].filter((at) => at >= 0).sort((a, b) => a - b),
      [reachable],
    ),
  });

  const height = rows.getTotalSize();
  const room = rows.scrollRect?.height;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the end moves with every row, and with what is above the list
  useLayoutEffect(() => {
    const list = scroller.current;
    if (!list || !isAtEnd.current) return;
    // The event of a scroll comes later than the scroll: somebody who has just left the end is not taken back to it.
    if (list.scrollTop < lastTop.current && !isNearEnd(list)) return;
    list.scrollTo({ top: list.scrollHeight });
    lastTop.current = list.scrollTop;
  }, [last, height, room]);

  /** Moves the focus to a row and shows it, if the row is in the document. */
  const focusRow = (at: number): boolean => {
    const row = scroller.current?.querySelector<HTMLElement>(`[data-index="${at}"] .chunk__line`);
    row?.focus({ preventScroll: true });
    // The virtualizer's own `scrollToIndex` goes on scrolling for a while, against a user who scrolls elsewhere meanwhile.
    row?.scrollIntoView({ block: "nearest" });
    return row != null;
  };
  useLayoutEffect(() => {
    if (isFocusWanted.current && focusRow(reachable)) isFocusWanted.current = false;
  });

  const toggle = useCallback((index: number) => {
    setActive(index);
    setOpen((before) => {
      const after = new Set(before);
      if (!after.delete(index)) after.add(index);
      return after;
    });
  }, []);

  const move = (event: KeyboardEvent) => {
    // Inside of an open record the keys are for its text.
    if (!(event.target instanceof Element) || !event.target.matches(".chunk__line")) return;
    const next = targetOf(event.key, reachable, last);
    if (next === undefined) return;
    event.preventDefault();
    setActive(entries[next]?.index);
    isFocusWanted.current = !focusRow(next);
  };
  return (
    <>
      <div className="chunks__head" aria-hidden="true">
        <span>Time</span>
        <span>Seg</span>
        <span>Record</span>
        <span>Bytes</span>
      </div>
      <div
        className="chunks"
        ref={scroller}
        onScroll={({ currentTarget }) => {
          isAtEnd.current = isNearEnd(currentTarget);
          lastTop.current = currentTarget.scrollTop;
        }}
      >
        <ol
          className="chunks__list"
          aria-label="Records"
          style={{ height }}
          onKeyDown={move}
          onFocus={({ target }) => {
            const at = target.closest("[data-index]")?.getAttribute("data-index");
            setActive(entries[Number(at)]?.index);
          }}
        >
          {rows.getVirtualItems().map(({ index: at, key, start: top }) => {
            const entry = entries[at];
            return (
              entry && (
                <li
                  key={key}
                  ref={rows.measureElement}
                  data-index={at}
                  aria-posinset={at + 1}
                  aria-setsize={entries.length}
                  style={{ transform: `translateY(${top}px)` }}
                >
                  <ChunkRow
                    entry={entry}
                    start={start}
                    problem={flagged.get(entry.index)}
                    isOpen={open.has(entry.index)}
                    isActive={at === reachable}
                    onToggle={toggle}
                  />
                </li>
              )
            );
          })}
        </ol>
      </div>
    </>
  );
}

function isNearEnd({ scrollHeight, scrollTop, clientHeight }: HTMLElement): boolean {
  return scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
}

/** Where a key leads to, from one row of the list. */
export function targetOf(key: string, from: number, last: number): number | undefined {
  const steps: Record<string, number> = {
    ArrowDown: from + 1,
    ArrowUp: from - 1,
    PageDown: from + PAGE,
    PageUp: from - PAGE,
    Home: 0,
    End: last,
  };
  const to = steps[key];
  return to === undefined ? undefined : Math.min(last, Math.max(0, to));
}
