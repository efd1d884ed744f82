/** Growing pauses between attempts: doubled each time up to a limit, and spread so that clients do not come back all at once. */
export class Backoff {
  #attempts = 0;

  constructor(
    private readonly firstMs = 250,
    private readonly limitMs = 15_000,
  ) {}

  /** How many pauses there were since the last success. */
  get attempts(): number {
    return this.#attempts;
  }

  /** It worked: the next pause is short again. */
  reset(): void {
    this.#attempts = 0;
  }

  /** How long to wait now. */
  next(): number {
    const full = Math.min(this.limitMs, this.firstMs * 2 ** this.#attempts++);
    return full / 2 + (Math.random() * full) / 2;
  }

  /** Waits, for so long at least; or returns at once when the signal says so. */
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
