import type { Ticket } from "../protocol.js";
import { clockOf } from "./clock.js";
import { HoldpointError, isWebPage, notHoldpoint, requestFailure } from "./holdpoint-error.js";
import { type HoldpointOptions, type RequestSettings, requestSettings, resolve } from "./options.js";
import { type Reachability, reachabilityOf } from "./reachability.js";

/** What every call takes. */
export type RequestOptions = {
  /** Aborts the request. */
  signal?: AbortSignal | undefined;
};

/** Requests to one server, with its address and key. */
export class Server {
  readonly options: HoldpointOptions;
  /** Whether the server responds, as far as this page knows. */
  readonly reachability: Reachability;

  constructor(options: HoldpointOptions) {
    this.options = options;
    this.reachability = reachabilityOf(options);
  }

  /** The URL of a path. */
  url(path: string): string {
    return `${(this.options.baseUrl ?? "").replace(/\/+$/, "")}${path}`;
  }

  /** The WebSocket URL of a path. Absolute, since not every WebSocket accepts a relative one. */
  socketUrl(path: string): URL {
    const page = globalThis.location?.href;
    const url = page === undefined ? new URL(this.url(path)) : new URL(this.url(path), page);
    url.protocol = url.protocol === "https:" || url.protocol === "wss:" ? "wss:" : "ws:";
    return url;
  }

  /** The headers and credentials of every request. */
  settings(): Promise<RequestSettings> {
    return requestSettings(this.options);
  }

  /**
   * A ticket for one WebSocket, if it needs one: a browser can't send a key with it, and a key does not belong in a
   * URL.
   */
  async ticket(signal?: AbortSignal): Promise<string | undefined> {
    const { ticket, apiKey } = this.options;
    if (ticket !== undefined) return await ticket();
    if ((await resolve(apiKey)) === undefined) return undefined;
    const response = await this.request("/api/ticket", { method: "POST", signal });
    return (await jsonOf<Ticket>(response)).ticket;
  }

  /** `fetch`, which also reports whether the server responded. */
  readonly fetch: typeof fetch = async (input, init) => {
    let response: Response;
    try {
      response = await (this.options.fetch ?? fetch)(input, init);
    } catch (error) {
      if (!isAborted(init?.signal)) this.reachability.suspect();
      throw requestFailure(error);
    }
    clockOf(this.options).learn(response);
    if (response.status < 500 && !isWebPage(response)) this.reachability.answered();
    else this.reachability.suspect();
    return response;
  };

  /** Sends a request, with a `body` in JSON or a plain `text`. A non-2xx response is thrown as a {@link HoldpointError}. */
  async request(
    path: string,
    init: { method?: string; body?: unknown; text?: string; signal?: AbortSignal | undefined } = {},
  ) {
    const { method = "GET", body, text, signal } = init;
    const settings = await this.settings();
    const response = await this.fetch(this.url(path), {
      ...settings,
      method,
      headers: { ...settings.headers, ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(text !== undefined && { body: text }),
      ...(signal !== undefined && { signal }),
    });
    if (!response.ok) throw await HoldpointError.of(response);
    return response;
  }

  /** Sends a request and reads its JSON. */
  async json<T>(path: string, init: Parameters<Server["request"]>[1] = {}): Promise<T> {
    return await jsonOf<T>(await this.request(path, init));
  }
}

/** The JSON of a response. Anything else does not come from a Holdpoint server. */
export async function jsonOf<T>(response: Response): Promise<T> {
  if (isWebPage(response)) throw notHoldpoint(response);
  try {
    return (await response.json()) as T;
  } catch (error) {
    throw error instanceof SyntaxError ? notHoldpoint(response, error) : requestFailure(error);
  }
}

/** Whether the caller aborted the request. A timeout does not count. */
function isAborted(signal: AbortSignal | null | undefined): boolean {
  return signal?.aborted === true && (signal.reason as Error | undefined)?.name !== "TimeoutError";
}
