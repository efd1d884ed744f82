import { useEffect, useRef, useState } from "react";
import { ChunkRow } from "./ChunkRow";
import type { Recording } from "./entry";

interface Props {
  recording: Recording;
  /** The checker's violations, by entry. */
  flagged: ReadonlyMap<number, string>;
}

/** More rows are shown on request: a long chat has thousands. */
const SHOWN = 400;

/** Every record as received: its time, response and size. */
export function ChunkList({ recording, flagged }: Props) {
  const [isWhole, setIsWhole] = useState(false);
  const list = useRef<HTMLOListElement>(null);
  const isAtEnd = useRef(true);
  const { entries } = recording;
  const hidden = isWhole ? 0 : Math.max(0, entries.length - SHOWN);
  const start = recording.segments[0]?.startedAt ?? entries[0]?.at ?? 0;

  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when entries are added
  useEffect(() => {
    if (isAtEnd.current) list.current?.scrollTo({ top: list.current.scrollHeight });
  }, [entries.length]);

  return (
    <>
      <div className="chunks__head" aria-hidden="true">
        <span>Time</span>
        <span>Seg</span>
        <span>Chunk</span>
        <span>Bytes</span>
      </div>
      <ol
        className="chunks"
        ref={list}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region has to be reachable by keyboard
        tabIndex={0}
        aria-label="Chunks"
        onScroll={({ currentTarget }) => {
          isAtEnd.current = currentTarget.scrollHeight - currentTarget.scrollTop - currentTarget.clientHeight < 40;
        }}
      >
        {hidden > 0 && (
          <li>
            <button type="button" className="chunks__more" onClick={() => setIsWhole(true)}>
              Show {hidden} earlier records
            </button>
          </li>
        )}
        {entries.slice(hidden).map((entry) => (
          <ChunkRow key={entry.index} entry={entry} start={start} problem={flagged.get(entry.index)} />
        ))}
      </ol>
    </>
  );
}
