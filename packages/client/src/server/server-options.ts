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
};
