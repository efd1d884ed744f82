import type { ServerOptions } from "./server-options.js";

/**
 * Makes a function that gives the one thing of its kind that a page has for a server and key. Two hooks of a page, or a chat and the
 * inbox, then know the same. Another `fetch` is another way to the same server.
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
