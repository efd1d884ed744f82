import type { ServerOptions } from "./server-options.js";

/** An answer of the server that is no success. */
export class ServerError extends Error {
  override readonly name = "ServerError";

  constructor(
    message: string,
    /** The HTTP status. */
    readonly status: number,
    /** The reason that the server gave, such as `approval-required`. */
    readonly reason?: string,
  ) {
    super(message);
  }
}

/** Requests to one server, with its address and key. */
export class Server {
  readonly #options: ServerOptions;

  constructor(options: ServerOptions) {
    this.#options = options;
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

  /** A request; an answer that is no success is thrown as a {@link ServerError}. */
  async request(path: string, init: { method?: string; body?: unknown; signal?: AbortSignal | undefined } = {}) {
    const { method = "GET", body, signal } = init;
    const response = await (this.#options.fetch ?? fetch)(this.url(path), {
      method,
      headers: { ...this.headers, ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    });
    if (!response.ok) throw await refusal(response);
    return response;
  }
}

/** What a refusal says: `{reason}` in JSON, else its text, else its status. */
async function refusal(response: Response): Promise<ServerError> {
  const text = await response.text().catch(() => "");
  const reason = reasonOf(text);
  const words = reason ?? (text.trim() || response.statusText || "no reason given");
  return new ServerError(`The server refused (${response.status}): ${words}`, response.status, reason);
}

function reasonOf(text: string): string | undefined {
  try {
    const answer: unknown = JSON.parse(text);
    if (typeof answer !== "object" || answer === null) return undefined;
    const { reason, error } = answer as { reason?: unknown; error?: unknown };
    const said = reason ?? error;
    return typeof said === "string" ? said : undefined;
  } catch {
    return undefined;
  }
}
