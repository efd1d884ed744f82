import type { Resolvable, ServerOptions } from "./server-options.js";

/** What every request of a server has. */
export type RequestSettings = { headers: Record<string, string>; credentials?: RequestCredentials };

/** Evaluates the options that may be functions. */
export async function requestSettings(options: ServerOptions): Promise<RequestSettings> {
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
export function identityOf({ baseUrl = "", apiKey, headers, credentials }: ServerOptions): string {
  const isFunction = [typeof apiKey === "function", typeof headers === "function"];
  const key = typeof apiKey === "function" ? undefined : apiKey;
  const sorted = typeof headers === "function" ? [] : Object.entries(asRecord(headers)).sort();
  return JSON.stringify([baseUrl.replace(/\/+$/, ""), key, sorted, credentials, isFunction]);
}

function asRecord(headers: Record<string, string> | Headers | undefined): Record<string, string> {
  return headers instanceof Headers ? Object.fromEntries(headers) : (headers ?? {});
}
