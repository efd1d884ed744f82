import { timeText } from "./words";

/** A time of the record, short; the whole of it on request. */
export function Time({ iso }: { iso: string }) {
  return (
    <time dateTime={iso} title={iso}>
      {timeText(iso, new Date())}
    </time>
  );
}
