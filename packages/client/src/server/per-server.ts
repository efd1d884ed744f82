import type { ServerOptions } from "./server-options.js";

/**
 * Creates a function that returns a page's single instance for a server and key, so that two hooks, or a chat and the
 * inbox, share state. A different `fetch` gets a different instance.
 */
export function perServer<T>(make: (options: ServerOptions) => T): (options: ServerOptions) => T {
  const made = new Map<string, T>();
  return (options) => {
    const { baseUrl = "", apiKey, headers = {} } = options;
    const key = JSON.stringify([baseUrl.replace(/\/+$/, ""), apiKey, Object.entries(headers).sort()]);
    let one = made.get(key);
    if (one === undefined) {
      one = make(options);
      made.set(key, one);
    }
    return one;
  };
}
