import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import type { DecisionProgress } from "holdpoint";
import type { PendingApproval } from "holdpoint/protocol";
import { type RefObject, useCallback, useEffect, useImperativeHandle, useLayoutEffect, useRef } from "react";
import type { ToolSpec } from "../api/types";
import { WaitingRow } from "./WaitingRow";

/** What the keys do with the list. */
export interface ListHandle {
  /** Moves the focus to the current row, and brings it into view. */
  focus: () => void;
}

interface Props {
  entries: readonly PendingApproval[];
  currentId: string | undefined;
  ticked: ReadonlyMap<string, PendingApproval>;
  decisions: Readonly<Record<string, DecisionProgress>>;
  toolNamed: (name: string) => ToolSpec | undefined;
  titleOf: (chatId: string) => string | undefined;
  now: number;
  hasMore: boolean;
  isLoadingMore: boolean;
  onMore: () => void;
  onOpen: (approvalId: string) => void;
  onTick: (approvalId: string) => void;
  handle: RefObject<ListHandle | null>;
}

const ROW_PX = 66;
const OVERSCAN = 8;
/** More are loaded when this many rows or fewer are below the view. */
const NEAR_END = 20;

/** What waits. Only the rows in view are in the document, and the current one, which may have the focus. */
export function WaitingList(props: Props) {
  const { entries, currentId, ticked, decisions, toolNamed, titleOf, now, hasMore, isLoadingMore, onMore } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const isFocusWanted = useRef(false);
  /** -1 if the one that is shown has left the list. */
  const current = entries.findIndex(({ approvalId }) => approvalId === currentId);

  const rows = useVirtualizer({
    count: entries.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    getItemKey: (at) => entries[at]?.approvalId ?? at,
    overscan: OVERSCAN,
    // Rows are measured while React renders, where nothing may be flushed.
    useFlushSync: false,
    rangeExtractor: useCallback(
      (range: Parameters<typeof defaultRangeExtractor>[0]) =>
        [...new Set([...defaultRangeExtractor(range), current])].filter((at) => at >= 0).sort((a, b) => a - b),
      [current],
    ),
  });

  const shown = rows.range?.endIndex ?? 0;
  const isNearEnd = shown >= entries.length - NEAR_END;
  useEffect(() => {
    if (hasMore && isNearEnd && !isLoadingMore) onMore();
  }, [hasMore, isNearEnd, isLoadingMore, onMore]);

  useImperativeHandle(props.handle, () => ({
    focus: () => {
      isFocusWanted.current = true;
      if (current >= 0) rows.scrollToIndex(current);
    },
  }));
  useLayoutEffect(() => {
    if (!isFocusWanted.current || currentId === undefined) return;
    const row = scroller.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(currentId)}"]`);
    if (!row) return;
    isFocusWanted.current = false;
    if (current >= 0) rows.scrollToIndex(current);
    row.focus({ preventScroll: true });
  });
  return (
    <div className="waiting__scroll" ref={scroller}>
      <ul className="waiting__list" aria-label="Approval requests" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ index: at, key, start }) => {
          const entry = entries[at];
          if (entry === undefined) return null;
          const { approvalId } = entry;
          const state = decisions[approvalId]?.state;
          return (
            <li
              key={key}
              ref={rows.measureElement}
              data-index={at}
              aria-posinset={at + 1}
              aria-setsize={hasMore ? -1 : entries.length}
              style={{ transform: `translateY(${start}px)` }}
            >
              <WaitingRow
                entry={entry}
                tool={toolNamed(entry.toolName)}
                chatTitle={titleOf(entry.chatId)}
                now={now}
                isCurrent={approvalId === currentId}
                isTabStop={at === Math.max(0, current)}
                isTicked={ticked.has(approvalId)}
                isSending={state === "sending" || state === "retrying"}
                onOpen={props.onOpen}
                onTick={props.onTick}
              />
            </li>
          );
        })}
      </ul>
      {isLoadingMore && (
        <p className="waiting__more" role="status">
          Loading more…
        </p>
      )}
    </div>
  );
}
