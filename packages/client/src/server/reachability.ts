import { Backoff } from "./backoff.js";
import { asHoldpointError, HoldpointError, isWebPage, notHoldpoint, requestFailure } from "./holdpoint-error.js";
import { Listeners } from "./listeners.js";
import { type HoldpointOptions, requestSettings } from "./options.js";
import { perServer } from "./per-server.js";
import { withTimeLimit } from "./time-limit.js";

/** Whether the server responds. */
export type ServerStatus = {
  /** `connecting`: no response so far. */
  state: "connecting" | "connected" | "unreachable";
  /** Since when. */
  since: Date;
  /** For `unreachable`: what the last attempt met with. */
  error?: HoldpointError | undefined;
};

/** How long the server may take to respond to a probe. */
const PROBE_MS = 5_000;
/** How long the first response may take before a probe finds out why. */
const FIRST_MS = 2_000;
/** The longest delay between two probes. It is short because a user may be waiting. */
const MAX_PAUSE_MS = 5_000;

/**
 * Whether one server responds, shared by a whole page. Every request reports its result. One failure proves nothing: it
 * may concern a single endpoint or connection. So a failure starts a probe, which is repeated until the server
 * responds.
 */
export class Reachability {
  readonly #options: () => HoldpointOptions;
  readonly #listeners = new Listeners();
  #status: ServerStatus = { state: "connecting", since: new Date() };
  #probe: AbortController | undefined;
  #first: ReturnType<typeof setTimeout> | undefined;

  constructor(options: () => HoldpointOptions) {
    this.#options = options;
  }

  readonly getStatus = (): ServerStatus => this.#status;

  /** Calls back on every change, until the returned function is called. */
  readonly subscribe = (listener: () => void): (() => void) => {
    const remove = this.#listeners.add(listener);
    if (this.#status.state === "unreachable") this.suspect();
    // A request that hangs fails late. Nobody should look at "connecting" for that long.
    if (this.#status.state === "connecting") this.#first ??= setTimeout(() => this.#suspectSilence(), FIRST_MS);
    return () => {
      remove();
      // Do not probe while nobody is subscribed.
      if (this.#listeners.size > 0) return;
      this.#endProbe();
      clearTimeout(this.#first);
      this.#first = undefined;
    };
  };

  /** The server has responded. */
  answered(): void {
    this.#endProbe();
    this.#set("connected");
  }

  /** A request failed unexpectedly: probes whether the server responds. */
  suspect(): void {
    if (this.#probe !== undefined) return;
    const probe = new AbortController();
    this.#probe = probe;
    void this.#probeUntilAnswered(probe.signal);
  }

  #suspectSilence(): void {
    this.#first = undefined;
    if (this.#status.state === "connecting") this.suspect();
  }

  /**
   * Waits for the next delay of `backoff`, but at least `leastMs`. Returns early when an unreachable server responds
   * again.
   */
  async pause(backoff: Backoff, signal: AbortSignal, leastMs = 0): Promise<void> {
    const early = new AbortController();
    const wake = () => early.abort();
    const unsubscribe = this.subscribe(() => {
      if (this.#status.state === "connected") wake();
    });
    signal.addEventListener("abort", wake);
    if (signal.aborted) wake();
    await backoff.pause(early.signal, leastMs);
    unsubscribe();
    signal.removeEventListener("abort", wake);
  }

  async #probeUntilAnswered(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(250, MAX_PAUSE_MS);
    while (!signal.aborted) {
      const error = await this.#failure(signal);
      if (signal.aborted) return;
      if (error === undefined) return this.answered();
      this.#set("unreachable", error);
      if (this.#listeners.size === 0) return this.#endProbe();
      await backoff.pause(signal);
    }
  }

  /**
   * What a probe meets with. Any response will do, except a 5xx of a gateway or of a broken server, and what a
   * Holdpoint server would not say: it has this path, and no page under it.
   */
  async #failure(signal: AbortSignal): Promise<HoldpointError | undefined> {
    const options = this.#options();
    const { baseUrl = "", fetch: ownFetch } = options;
    try {
      const url = `${baseUrl.replace(/\/+$/, "")}/api/approvals?limit=1`;
      const settings = await requestSettings(options);
      const response = await withTimeLimit(PROBE_MS, signal, (limited) =>
        (ownFetch ?? fetch)(url, { ...settings, signal: limited }),
      );
      if (response.status >= 500) return await HoldpointError.of(response);
      await response.body?.cancel();
      return isWebPage(response) || response.status === 404 ? notHoldpoint(response) : undefined;
    } catch (error) {
      return asHoldpointError(requestFailure(error), "unreachable");
    }
  }

  #endProbe(): void {
    this.#probe?.abort();
    this.#probe = undefined;
  }

  #set(state: ServerStatus["state"], error?: HoldpointError): void {
    const { since, ...before } = this.#status;
    if (before.state === state && before.error?.code === error?.code) return;
    this.#status = { state, since: before.state === state ? since : new Date(), ...(error && { error }) };
    this.#listeners.call();
  }
}

/** A page's shared state for a server. */
export const reachabilityOf = perServer((options) => new Reachability(options));
