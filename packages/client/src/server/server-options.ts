import type { EventsSource } from "./events.js";

/** Where the Holdpoint server is, and how to speak to it. */
export type ServerOptions = {
  /** The server's address, such as `https://agent.example`. Left out: where the page comes from. */
  baseUrl?: string | undefined;
  /** Sent as `Authorization: Bearer`. A server without configured keys needs none. */
  apiKey?: string | undefined;
  /** More headers for every HTTP request. */
  headers?: Record<string, string> | undefined;
  /** Another `fetch`, for tests or for a request with cookies. */
  fetch?: typeof fetch | undefined;
  /** Gets a ticket for a WebSocket, at every connection. Left out: asked of the server if there is an `apiKey`. */
  ticket?: (() => Promise<string | undefined>) | undefined;
  /**
   * Where the server's events come from. Left out: each that needs them has its own connection, and a browser has only few to one
   * server; give the same source to all of them to have one.
   */
  events?: EventsSource | undefined;
};
