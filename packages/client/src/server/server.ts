import { type Reachability, reachabilityOf } from "./reachability.js";
import { ServerError } from "./server-error.js";
import type { ServerOptions } from "./server-options.js";

/** Requests to one server, with its address and key. */
export class Server {
  readonly #options: ServerOptions;
  /** Whether it answers, as far as this page knows. */
  readonly reachability: Reachability;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.reachability = reachabilityOf(options);
  }

  /** The address of a path. */
  url(path: string): string {
    return `${(this.#options.baseUrl ?? "").replace(/\/+$/, "")}${path}`;
  }

  /** The WebSocket address of a path: absolute, since a WebSocket takes no relative one everywhere. */
  socketUrl(path: string): URL {
    const page = globalThis.location?.href;
    const url = page === undefined ? new URL(this.url(path)) : new URL(this.url(path), page);
    url.protocol = url.protocol === "https:" || url.protocol === "wss:" ? "wss:" : "ws:";
    return url;
  }

  /** The headers of every request. */
  get headers(): Record<string, string> {
    const { apiKey, headers } = this.#options;
    return { ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }), ...headers };
  }

  /** A ticket for one WebSocket, if it needs one: a browser can't send a key with it, and an address is no place for a key. */
  async ticket(signal?: AbortSignal): Promise<string | undefined> {
    const { ticket, apiKey } = this.#options;
    if (ticket !== undefined) return await ticket();
    if (apiKey === undefined) return undefined;
    const response = await this.request("/api/ticket", { method: "POST", signal });
    return ((await response.json()) as { ticket: string }).ticket;
  }

  /** `fetch`, and what it says about whether the server answers. */
  readonly fetch: typeof fetch = async (input, init) => {
    let response: Response;
    try {
      response = await (this.#options.fetch ?? fetch)(input, init);
    } catch (error) {
      if (!isGivenUp(init?.signal)) this.reachability.suspect();
      throw error;
    }
    if (response.status < 500) this.reachability.answered();
    else this.reachability.suspect();
    return response;
  };

  /** A request; a response that is not 2xx is thrown as a {@link ServerError}. */
  async request(path: string, init: { method?: string; body?: unknown; signal?: AbortSignal | undefined } = {}) {
    const { method = "GET", body, signal } = init;
    const response = await this.fetch(this.url(path), {
      method,
      headers: { ...this.headers, ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    });
    if (!response.ok) throw await ServerError.of(response);
    return response;
  }
}

/** Whether this side did not want the answer any more. One that took too long was wanted. */
function isGivenUp(signal: AbortSignal | null | undefined): boolean {
  return signal?.aborted === true && (signal.reason as Error | undefined)?.name !== "TimeoutError";
}
