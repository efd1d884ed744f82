/**
 * Exponential backoff with jitter: delays double up to a limit, and are spread so that clients do not reconnect all at
 * once.
 */
export class Backoff {
  #attempts = 0;

  constructor(
    private readonly firstMs = 250,
    private readonly limitMs = 15_000,
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
    return full / 2 + (Math.random() * full) / 2;
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
