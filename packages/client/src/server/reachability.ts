import { Backoff } from "./backoff.js";
import { Listeners } from "./listeners.js";
import { perServer } from "./per-server.js";
import type { ServerOptions } from "./server-options.js";
import { withTimeLimit } from "./time-limit.js";

/** Whether the server answers. */
export type ServerStatus = {
  /** `connecting`: it has not been heard of so far. */
  state: "connecting" | "connected" | "unreachable";
  /** Since when. */
  since: Date;
};

/** How long the server may take to answer a probe. */
const PROBE_MS = 5_000;
/** The longest pause between two probes: a person looks at the page and waits. */
const MAX_PAUSE_MS = 5_000;

/**
 * Whether one server answers, for a whole page. Every request tells how it went. A failure alone proves nothing: it may be of one
 * endpoint, or of one connection. So it makes for a probe, and the probe decides; while there is no answer it is repeated.
 */
export class Reachability {
  readonly #options: ServerOptions;
  readonly #listeners = new Listeners();
  #status: ServerStatus = { state: "connecting", since: new Date() };
  #probe: AbortController | undefined;

  constructor(options: ServerOptions) {
    this.#options = options;
  }

  readonly getStatus = (): ServerStatus => this.#status;

  /** Calls back at every change, until the returned function is called. */
  readonly subscribe = (listener: () => void): (() => void) => {
    const remove = this.#listeners.add(listener);
    if (this.#status.state === "unreachable") this.suspect();
    return () => {
      remove();
      // A page that nobody looks at asks no more.
      if (this.#listeners.size === 0) this.#endProbe();
    };
  };

  /** The server has answered. */
  answered(): void {
    this.#endProbe();
    this.#set("connected");
  }

  /** Something failed that should not: finds out whether the server is there. */
  suspect(): void {
    if (this.#probe !== undefined) return;
    const probe = new AbortController();
    this.#probe = probe;
    void this.#probeUntilAnswered(probe.signal);
  }

  /** Waits as `backoff` says, for so long at least, but no longer than until a server that was away is back. */
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
      const isThere = await this.#isThere(signal);
      if (signal.aborted) return;
      if (isThere) return this.answered();
      this.#set("unreachable");
      if (this.#listeners.size === 0) return this.#endProbe();
      await backoff.pause(signal);
    }
  }

  /** Any answer will do that is not a gateway's, or a server's that can't work. */
  async #isThere(signal: AbortSignal): Promise<boolean> {
    const { baseUrl = "", apiKey, headers, fetch: ownFetch } = this.#options;
    try {
      const url = `${baseUrl.replace(/\/+$/, "")}/api/approvals?limit=1`;
      const auth = { ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }), ...headers };
      const response = await withTimeLimit(PROBE_MS, signal, (limited) =>
        (ownFetch ?? fetch)(url, { headers: auth, signal: limited }),
      );
      await response.body?.cancel();
      return response.status < 500;
    } catch {
      return false;
    }
  }

  #endProbe(): void {
    this.#probe?.abort();
    this.#probe = undefined;
  }

  #set(state: ServerStatus["state"]): void {
    if (this.#status.state === state) return;
    this.#status = { state, since: new Date() };
    this.#listeners.call();
  }
}

/** The page's knowledge of a server. */
export const reachabilityOf = perServer((options) => new Reachability(options));
