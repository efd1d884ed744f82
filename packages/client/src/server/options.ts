import type { EventsSource } from "./events.js";

/** A value, or a function that returns it, at once or later. A function is called for every request. */
export type Resolvable<T> = T | (() => T | PromiseLike<T>);

/** The address of a Holdpoint server, and how to connect to it. */
export type HoldpointOptions = {
  /** The server's address, such as `https://agent.example`. Default: the page's own origin. */
  baseUrl?: string | undefined;
  /**
   * Sent as `Authorization: Bearer`. A server without configured keys needs none. A different value is a different
   * user: everything is connected and read again. A function is for keys that are renewed for the same user.
   */
  apiKey?: Resolvable<string | undefined> | undefined;
  /** Additional headers for every HTTP request. */
  headers?: Resolvable<Record<string, string> | Headers | undefined> | undefined;
  /** The `credentials` of every HTTP request: `include` sends cookies to another origin. */
  credentials?: RequestCredentials | undefined;
  /** A custom `fetch`. */
  fetch?: typeof fetch | undefined;
  /** Gets a ticket for each WebSocket connection. Default: requested from the server if there is an `apiKey`. */
  ticket?: (() => Promise<string | undefined>) | undefined;
  /**
   * Where the server's events come from. `browser`: one connection to `GET /api/events`, shared by all tabs that have
   * the same server, key and headers. `page`: one connection for this page. Default: `browser`, but `page` with a
   * custom `fetch` and neither `apiKey` nor `headers`, since that may identify the user in its own way. A page in a
   * context without Web Locks always has its own connection.
   */
  events?: EventsSource | "browser" | "page" | undefined;
};

/** What every request of a server has. */
export type RequestSettings = { headers: Record<string, string>; credentials?: RequestCredentials };

/** Evaluates the options that may be functions. */
export async function requestSettings(options: HoldpointOptions): Promise<RequestSettings> {
  const { credentials } = options;
  const [apiKey, headers] = await Promise.all([resolve(options.apiKey), resolve(options.headers)]);
  return {
    headers: { ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }), ...asRecord(headers) },
    ...(credentials !== undefined && { credentials }),
  };
}

/** The value of an option. */
export async function resolve<T>(option: Resolvable<T>): Promise<T> {
  return typeof option === "function" ? await (option as () => T | PromiseLike<T>)() : option;
}

/**
 * What distinguishes one server and user from another, as text. A function is often new on every render and says
 * nothing about the user: only its presence counts.
 */
export function identityOf({ baseUrl = "", apiKey, headers, credentials }: HoldpointOptions): string {
  const isFunction = [typeof apiKey === "function", typeof headers === "function"];
  const key = typeof apiKey === "function" ? undefined : apiKey;
  const sorted = typeof headers === "function" ? [] : Object.entries(asRecord(headers)).sort();
  return JSON.stringify([baseUrl.replace(/\/+$/, ""), key, sorted, credentials, isFunction]);
}

function asRecord(headers: Record<string, string> | Headers | undefined): Record<string, string> {
  return headers instanceof Headers ? Object.fromEntries(headers) : (headers ?? {});
}
