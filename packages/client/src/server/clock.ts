import { perServer } from "./per-server.js";

/** The `date` header has whole seconds, and a response takes a while: smaller differences are ignored. */
const TOLERATED_MS = 2_000;

/** How far a server's clock is ahead of this one. */
export class Clock {
  #aheadMs = 0;

  /** Learns the server's time from the `date` header of a response. A foreign origin has to expose it. */
  learn(response: Response, now = Date.now()): void {
    const date = Date.parse(response.headers.get("date") ?? "");
    if (Number.isNaN(date)) return;
    // The middle of the second in the header.
    const ahead = date + 500 - now;
    this.#aheadMs = Math.abs(ahead) < TOLERATED_MS ? 0 : ahead;
  }

  now(): number {
    return Date.now() + this.#aheadMs;
  }
}

/** A page's shared clock of a server. */
export const clockOf = perServer(() => new Clock());
