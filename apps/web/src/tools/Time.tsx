import { timeText } from "./texts";

/** A recorded time in short form, with the full time as a tooltip. */
export function Time({ iso }: { iso: string }) {
  return (
    <time dateTime={iso} title={iso}>
      {timeText(iso, new Date())}
    </time>
  );
}
