import type { EventsSource } from "./events.js";

/** The address of a Holdpoint server, and how to connect to it. */
export type ServerOptions = {
  /** The server's address, such as `https://agent.example`. Default: the page's own origin. */
  baseUrl?: string | undefined;
  /** Sent as `Authorization: Bearer`. A server without configured keys needs none. */
  apiKey?: string | undefined;
  /** Additional headers for every HTTP request. */
  headers?: Record<string, string> | undefined;
  /** A custom `fetch`, for tests or for requests with cookies. */
  fetch?: typeof fetch | undefined;
  /** Gets a ticket for each WebSocket connection. Default: requested from the server if there is an `apiKey`. */
  ticket?: (() => Promise<string | undefined>) | undefined;
  /**
   * The source of the server's events. By default every consumer opens its own connection, and browsers limit
   * connections per server: share one source to use a single connection.
   */
  events?: EventsSource | undefined;
};
