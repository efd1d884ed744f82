import { ArrowDown } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";

interface Props {
  children: ReactNode;
  /** Changes with everything that makes the transcript longer. */
  growth: unknown;
  /** Nothing has been said: what is there is read from its beginning. */
  isEmpty: boolean;
}

const NEAR_END_PX = 80;

/** Scrolls with the text for as long as the reader is at its end. */
export function Transcript({ children, growth, isEmpty }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [isAway, setIsAway] = useState(false);

  // biome-ignore lint/correctness/useExhaustiveDependencies: growth is what this is about
  useEffect(() => {
    if (isAtEnd.current && !isEmpty) box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [growth]);

  return (
    <div className="transcript-frame">
      <section
        className="transcript"
        ref={box}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region has to be reachable by keyboard
        tabIndex={0}
        aria-label="Conversation"
        onScroll={({ currentTarget }) => {
          const left = currentTarget.scrollHeight - currentTarget.scrollTop - currentTarget.clientHeight;
          isAtEnd.current = left < NEAR_END_PX;
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
