import type { EventsSource } from "./events.js";

/** A value, or a function that returns it, at once or later. A function is called for every request. */
export type Resolvable<T> = T | (() => T | PromiseLike<T>);

/** The address of a Holdpoint server, and how to connect to it. */
export type ServerOptions = {
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
