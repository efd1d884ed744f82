import WebSocket from "ws";

/** Waits for some milliseconds. */
export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** A `fetch` that takes longer, before and after the server has answered. */
export function slowFetch(delay: (url: string) => number): typeof fetch {
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    await pause(delay(url));
    const response = await fetch(input, init);
    await pause(delay(url));
    return response;
  };
}

/** A WebSocket that delivers its frames in order and apart, so that they arrive in the middle of everything else. */
export function slowWebSocket(delay: () => number): typeof WebSocket {
  return class extends WebSocket {
    #delivered: Promise<void> = Promise.resolve();

    override emit(event: string, ...args: unknown[]): boolean {
      if (event !== "message") return super.emit(event, ...args);
      this.#delivered = this.#delivered.then(() => pause(delay())).then(() => void super.emit(event, ...args));
      return true;
    }
  };
}

/**
 * With `TEST_JITTER_MS=60`, everything that a hook sends and receives is late by up to that many milliseconds, by
 * chance: for the races that a quiet machine never shows.
 */
export function jitter(): { fetch?: typeof fetch; webSocket: typeof WebSocket } {
  const most = Number(process.env.TEST_JITTER_MS ?? 0);
  if (!(most > 0)) return { webSocket: WebSocket };
  const some = (share: number) => (Math.random() < 0.4 ? 0 : Math.random() * most * share);
  return { fetch: slowFetch(() => some(1)), webSocket: slowWebSocket(() => some(0.25)) };
}
