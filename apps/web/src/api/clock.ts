/** How far the server's clock is ahead of this one, in milliseconds. */
let aheadMs = 0;

/** The `date` header has whole seconds, and an answer takes a while: less than this is no difference. */
const TOLERATED_MS = 2000;

/** Learns from an answer's `date` what time it is on the server. */
export function learnTime(response: Response): void {
  const date = Date.parse(response.headers.get("date") ?? "");
  if (Number.isNaN(date)) return;
  // In the middle of the second that the header names.
  const ahead = date + 500 - Date.now();
  aheadMs = Math.abs(ahead) < TOLERATED_MS ? 0 : ahead;
}

/** The time by the server's clock: deadlines are its own. */
export function serverNow(): number {
  return Date.now() + aheadMs;
}
