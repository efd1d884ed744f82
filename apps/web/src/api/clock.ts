/** How far the server's clock is ahead of this one, in milliseconds. */
let aheadMs = 0;

/** The `date` header has whole seconds, and a response takes a while: smaller differences are ignored. */
const TOLERATED_MS = 2000;

/** Learns the server's time from the `date` header of a response. */
export function learnTime(response: Response): void {
  const date = Date.parse(response.headers.get("date") ?? "");
  if (Number.isNaN(date)) return;
  // The middle of the second in the header.
  const ahead = date + 500 - Date.now();
  aheadMs = Math.abs(ahead) < TOLERATED_MS ? 0 : ahead;
}

/** The current time by the server's clock, which deadlines follow. */
export function serverNow(): number {
  return Date.now() + aheadMs;
}
