import { Backoff } from "./backoff.js";
import type { EventsListener, ServerEvent } from "./events.js";
import { reachabilityOf } from "./reachability.js";
import { readEventStream } from "./read-event-stream.js";
import { Server } from "./server.js";
import type { ServerOptions } from "./server-options.js";

/** How long the connection may be silent. The server sends a keep-alive every 15 s. */
const SILENCE_MS = 40_000;

/** One connection to `GET /api/events`, shared by all subscribers of a page. */
export class EventStream {
  readonly #options: () => ServerOptions;
  readonly #listeners = new Set<EventsListener>();
  #abort: AbortController | undefined;
  #isConnected = false;

  constructor(options: () => ServerOptions) {
    this.#options = options;
  }

  /** The first subscriber opens the connection, the last one closes it. */
  subscribe(listener: EventsListener): () => void {
    // A separate object, so that the same listener may subscribe twice.
    const own = { ...listener };
    this.#listeners.add(own);
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      void this.#follow(this.#abort.signal);
    } else if (this.#isConnected) {
      own.onConnection?.(true);
      own.onEvent({ type: "ready" });
    }
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size > 0) return;
      this.#abort?.abort();
      this.#abort = undefined;
      this.#isConnected = false;
    };
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff();
    while (!signal.aborted) {
      try {
        await this.#connectOnce(signal, backoff);
      } catch (error) {
        if (signal.aborted) return;
        this.#each(({ onError }) => onError?.(error instanceof Error ? error : new Error(String(error))));
      }
      if (signal.aborted) return;
      this.#setConnected(false);
      const reachability = reachabilityOf(this.#options());
      reachability.suspect();
      await reachability.pause(backoff, signal);
    }
  }

  async #connectOnce(signal: AbortSignal, backoff: Backoff): Promise<void> {
    const silence = new AbortController();
    const abort = () => silence.abort(signal.reason);
    signal.addEventListener("abort", abort);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(
        () => silence.abort(new DOMException(`No data from the server for ${SILENCE_MS / 1_000} s.`, "TimeoutError")),
        SILENCE_MS,
      );
    };
    try {
      heard();
      const response = await new Server(this.#options()).request("/api/events", { signal: silence.signal });
      if (response.body === null) throw new Error("The event stream has no body.");
      for await (const data of readEventStream(response.body, heard)) {
        if (signal.aborted) return;
        const event = eventOf(data);
        if (event?.type === "ready") {
          backoff.reset();
          this.#setConnected(true);
        }
        if (event !== undefined) this.#each(({ onEvent }) => onEvent(event));
      }
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    }
  }

  #setConnected(isConnected: boolean): void {
    this.#isConnected = isConnected;
    this.#each(({ onConnection }) => onConnection?.(isConnected));
  }

  #each(notify: (listener: EventsListener) => void): void {
    for (const listener of [...this.#listeners]) notify(listener);
  }
}

/** Ignores events that can't be parsed: a newer server may send them. */
function eventOf(data: string): ServerEvent | undefined {
  try {
    return JSON.parse(data) as ServerEvent;
  } catch {
    return undefined;
  }
}
