import { ArrowDown } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { unsettle } from "../tools/steady";

interface Props {
  children: ReactNode;
  /** Changes whenever the transcript grows. */
  growth: unknown;
  /** The user's last message: a new one is scrolled into view. */
  sent: string | undefined;
  /** There are no messages: the content is read from the top. */
  isEmpty: boolean;
}

const NEAR_END_PX = 80;

/** How much of the content is below what can be seen. */
function leftBelow(box: HTMLElement): number {
  return box.scrollHeight - box.scrollTop - box.clientHeight;
}

/** Scrolls with the text while the reader is at the end. */
export function Transcript({ children, growth, sent, isEmpty }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  /** Where it was last seen to be. */
  const top = useRef(0);
  const [isAway, setIsAway] = useState(false);

  // Before the effect below: a sent message is scrolled into view wherever the reader was.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs on every new message
  useEffect(() => {
    isAtEnd.current = true;
    top.current = box.current?.scrollTop ?? 0;
  }, [sent]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: runs whenever the transcript grows
  useEffect(() => {
    if (!isAtEnd.current || isEmpty || box.current === null) return;
    const before = box.current.scrollTop;
    // The reader has scrolled up, and the event that says so is still to come.
    if (before < top.current && leftBelow(box.current) > 1) return;
    box.current.scrollTo({ top: box.current.scrollHeight });
    top.current = box.current.scrollTop;
    if (box.current.scrollTop !== before) unsettle();
  }, [growth]);

  // What shrinks at the end takes the view along. That is not the reader scrolling up.
  useEffect(() => {
    const element = box.current;
    if (element?.firstElementChild == null) return;
    const observer = new ResizeObserver(() => {
      if (isAtEnd.current && leftBelow(element) <= 1) top.current = element.scrollTop;
    });
    observer.observe(element.firstElementChild);
    return () => observer.disconnect();
  }, []);

  return (
    <div className="transcript-frame">
      <section
        className="transcript"
        ref={box}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region has to be reachable by keyboard
        tabIndex={0}
        aria-label="Conversation"
        onScroll={({ currentTarget }) => {
          // The event comes later than the move: what has grown since does not take a reader away from the end.
          const hasMovedUp = currentTarget.scrollTop < top.current;
          top.current = currentTarget.scrollTop;
          isAtEnd.current = leftBelow(currentTarget) < NEAR_END_PX || (isAtEnd.current && !hasMovedUp);
          setIsAway(!isAtEnd.current);
        }}
      >
        <div className="transcript__column">{children}</div>
      </section>
      {isAway && (
        <button
          type="button"
          className="transcript__latest"
          aria-label="Go to the latest message"
          onClick={() => box.current?.scrollTo({ top: box.current.scrollHeight, behavior: "smooth" })}
        >
          <ArrowDown size={16} aria-hidden="true" />
        </button>
      )}
    </div>
  );
}
