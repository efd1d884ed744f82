import { Maximize2 } from "lucide-react";
import { useMemo, useRef } from "react";
import { Lines } from "./Lines";
import { linesOf } from "./lines";
import type { Schema } from "./schema";
import { useWatchLines } from "./seen";

interface Props {
  /** The id of the value, for tracking what was seen. */
  id: string;
  caption: string;
  value: unknown;
  schema?: Schema;
  /** How many lines have not been in view, where that matters. */
  unseen?: number;
  onReview: () => void;
}

/** A value of up to this many lines is shown in full; a longer one is cut. */
const WHOLE = 16;
const BEGINNING = 12;

/** The first lines of a value, and how many more there are. */
export function ValuePreview({ id, caption, value, schema, unseen = 0, onReview }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => linesOf(value, schema), [value, schema]);
  const limit = lines.length <= WHOLE ? lines.length : BEGINNING;
  const more = lines.length - limit;
  useWatchLines({ id, container, rendered: limit });
  if (lines.length === 0) return <p className="value__empty">No fields</p>;
  return (
    <div className="preview" ref={container} data-lines={lines.length}>
      <Lines caption={caption} lines={lines} limit={limit} />
      <button type="button" className="preview__more" data-cut={more > 0 || unseen > 0} onClick={onReview}>
        <Maximize2 size={13} aria-hidden="true" />
        {textOf(more, unseen)}
      </button>
    </div>
  );
}

function textOf(more: number, unseen: number): string {
  if (more > 0) return `${more} more ${more === 1 ? "line" : "lines"}`;
  return unseen > 0 ? `Full view: ${unseen} ${unseen === 1 ? "line" : "lines"} not seen yet` : "Full view";
}
