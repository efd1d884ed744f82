import { ArrowDown } from "lucide-react";
import { type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import { useSeen, useWatchLines } from "./seen";

interface Props {
  id: string;
  label: string;
  /** The number of lines. */
  count: number;
  /** Renders the first `limit` lines. */
  children: (limit: number) => ReactNode;
  container?: RefObject<HTMLElement | null>;
}

/** How many more lines are rendered when the reader gets near the end. */
const STEP = 200;

/**
 * A scrollable list of lines. It tracks which of them have not been in view, shows how many, and can scroll to them.
 */
export function ReviewBody({ id, label, count, children, container }: Props) {
  const own = useRef<HTMLElement>(null);
  const box = container ?? own;
  const [limit, setLimit] = useState(STEP);
  const [target, setTarget] = useState<number>();
  const seen = useSeen(id);
  const unseen = count - seen.size;
  useWatchLines({ id, container: box, rendered: Math.min(limit, count) });

  useEffect(() => {
    if (target === undefined) return;
    box.current?.querySelector(`[data-line="${target}"]`)?.scrollIntoView({ block: "start" });
    setTarget(undefined);
  }, [target, box]);

  const goOn = () => {
    const next = firstMissing(seen);
    setLimit(Math.max(limit, next + STEP));
    setTarget(next);
    // The button may disappear with the last line.
    box.current?.focus({ preventScroll: true });
  };
  return (
    <div className="review__frame">
      <section
        ref={box}
        className="review__body"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region has to be reachable by keyboard
        tabIndex={0}
        aria-label={label}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
          if (limit < count && scrollHeight - scrollTop - clientHeight < clientHeight * 2) setLimit(limit + STEP);
        }}
      >
        {children(limit)}
      </section>
      {unseen > 0 && (
        <button type="button" className="review__next" onClick={goOn}>
          <ArrowDown size={15} aria-hidden="true" />
          {unseen} {unseen === 1 ? "line" : "lines"} not seen yet
        </button>
      )}
    </div>
  );
}

function firstMissing(seen: ReadonlySet<number>): number {
  let line = 0;
  while (seen.has(line)) line += 1;
  return line;
}
