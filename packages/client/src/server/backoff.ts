/**
 * Exponential backoff: delays double up to a limit. `jitter` is the share of each delay that is random, so that clients
 * do not reconnect all at once.
 */
export class Backoff {
  #attempts = 0;

  constructor(
    private readonly firstMs = 250,
    private readonly limitMs = 15_000,
    private readonly jitter = 0.5,
  ) {}

  /** The number of delays since the last success. */
  get attempts(): number {
    return this.#attempts;
  }

  /** Call after a success: the next delay is the shortest again. */
  reset(): void {
    this.#attempts = 0;
  }

  /** The next delay, in milliseconds. */
  next(): number {
    const full = Math.min(this.limitMs, this.firstMs * 2 ** this.#attempts++);
    return full * (1 - this.jitter) + Math.random() * full * this.jitter;
  }

  /** Waits for the next delay, but at least `leastMs`. Returns at once when the signal aborts. */
  pause(signal: AbortSignal, leastMs = 0): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, Math.max(leastMs, this.next()));
      signal.addEventListener("abort", done);
    });
  }
}
