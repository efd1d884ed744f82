import type { ServerEvent } from "../protocol.js";
import { Backoff } from "./backoff.js";
import type { EventsListener } from "./events.js";
import { asHoldpointError, requestFailure } from "./holdpoint-error.js";
import type { HoldpointOptions } from "./options.js";
import { reachabilityOf } from "./reachability.js";
import { readEventStream } from "./read-event-stream.js";
import { Server } from "./server.js";
import { SILENCE_REASON, watchSilence } from "./silence.js";
import { type StreamNews, TabLeader, type TabLeaderOptions } from "./tab-leader.js";
import { browserTabs, sharedName, type Tabs } from "./tabs.js";

/**
 * The events of `GET /api/events` for one page. Where the browser can share, one of its tabs has the connection and
 * passes the events on to the others.
 */
export class EventStream {
  readonly #options: () => HoldpointOptions;
  readonly #tabs: () => Tabs | undefined;
  readonly #limits: Pick<TabLeaderOptions, "checkMs" | "answerMs">;
  readonly #listeners = new Set<EventsListener>();
  #abort: AbortController | undefined;
  /** `undefined` until the first attempt has succeeded or failed. */
  #isConnected: boolean | undefined;
  #wake: AbortController | undefined;

  constructor(
    options: () => HoldpointOptions,
    tabs: () => Tabs | undefined = browserTabs,
    limits: Pick<TabLeaderOptions, "checkMs" | "answerMs"> = {},
  ) {
    this.#options = options;
    this.#tabs = tabs;
    this.#limits = limits;
  }

  /** The first subscriber starts it, the last one ends it. */
  subscribe(listener: EventsListener): () => void {
    // A separate object, so that the same listener may subscribe twice.
    const own = { ...listener };
    this.#listeners.add(own);
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      void this.#start(this.#abort.signal);
    } else if (this.#isConnected) {
      own.onConnection?.(true);
      own.onEvent({ type: "ready" });
    }
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size > 0) return;
      this.#abort?.abort();
      this.#abort = undefined;
      this.#isConnected = undefined;
    };
  }

  async #start(signal: AbortSignal): Promise<void> {
    const tabs = this.#tabs();
    // A key that can't be had now is asked for again with every attempt to connect.
    const name = tabs && (await sharedName(this.#options()).catch(() => undefined));
    if (signal.aborted) return;
    if (tabs === undefined || name === undefined) return this.#follow((news) => this.#take(news), signal);
    const leader = new TabLeader({
      ...this.#limits,
      name,
      tabs,
      read: (publish, leading) => this.#follow(publish, leading),
      onNews: (news, from) => this.#take(news, from),
      onMissed: () => {
        if (this.#isConnected) this.#each(({ onEvent }) => onEvent({ type: "missed" }));
      },
      onWake: () => this.#wake?.abort(),
    });
    const reachability = reachabilityOf(this.#options());
    const stopReachability = reachability.subscribe(() => {
      if (reachability.getStatus().state === "connected" && !this.#isConnected) leader.wake();
    });
    signal.addEventListener("abort", () => {
      stopReachability();
      leader.close();
    });
  }

  #take(news: StreamNews, from: "here" | "elsewhere" = "here"): void {
    if ("event" in news) {
      if (news.event.type === "ready") this.#setConnected(true, from);
      this.#each(({ onEvent }) => onEvent(news.event));
    } else if (news.isConnected !== this.#isConnected) {
      this.#setConnected(news.isConnected, from);
      // This tab may have opened long after the stream.
      if (news.isConnected) this.#each(({ onEvent }) => onEvent({ type: "ready" }));
    }
  }

  async #follow(publish: (news: StreamNews) => void, signal: AbortSignal): Promise<void> {
    const backoff = new Backoff();
    while (!signal.aborted) {
      try {
        await this.#connectOnce(publish, signal, backoff);
      } catch (error) {
        if (signal.aborted) return;
        const failure = asHoldpointError(requestFailure(error), "connection-lost");
        this.#each(({ onError }) => onError?.(failure));
      }
      if (signal.aborted) return;
      publish({ isConnected: false });
      const reachability = reachabilityOf(this.#options());
      reachability.suspect();
      const wake = new AbortController();
      const end = () => wake.abort();
      this.#wake = wake;
      signal.addEventListener("abort", end);
      await reachability.pause(backoff, wake.signal);
      signal.removeEventListener("abort", end);
    }
  }

  async #connectOnce(publish: (news: StreamNews) => void, signal: AbortSignal, backoff: Backoff): Promise<void> {
    const silence = new AbortController();
    const abort = () => silence.abort(signal.reason);
    signal.addEventListener("abort", abort);
    const reachability = reachabilityOf(this.#options());
    let stopReachability: (() => void) | undefined;
    const { heard, stop } = watchSilence(() => silence.abort(new DOMException(SILENCE_REASON, "TimeoutError")));
    try {
      const response = await new Server(this.#options()).request("/api/events", { signal: silence.signal });
      if (response.body === null) throw new Error("The event stream has no body.");
      // Some proxies leave the stream open although the server is gone. It would never carry another event.
      stopReachability = reachability.subscribe(() => {
        const { state, error } = reachability.getStatus();
        if (state === "unreachable") silence.abort(error);
      });
      for await (const data of readEventStream(response.body, heard)) {
        if (signal.aborted) return;
        const event = eventOf(data);
        if (event?.type === "ready") backoff.reset();
        if (event !== undefined) publish({ event });
      }
    } finally {
      stop();
      stopReachability?.();
      signal.removeEventListener("abort", abort);
    }
  }

  #setConnected(isConnected: boolean, from: "here" | "elsewhere"): void {
    this.#isConnected = isConnected;
    if (from === "elsewhere") {
      const reachability = reachabilityOf(this.#options());
      if (isConnected) reachability.answered();
      else reachability.suspect();
    }
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
