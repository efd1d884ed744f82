import { keyStore } from "../api/key";
import { maskHeaders, maskKey, maskUrl } from "./mask";
import type { Sent } from "./recorder";

/** What a request is, and what of it may be shown. */
export function describe(
  input: RequestInfo | URL,
  init: RequestInit | undefined,
): { method: string; path: string; sent: Sent } {
  const { key } = keyStore.read();
  const request = input instanceof Request ? input : undefined;
  const url = new URL(request?.url ?? input.toString(), location.href);
  const method = (init?.method ?? request?.method ?? "GET").toUpperCase();
  const body = init?.body;
  return {
    method,
    path: url.pathname,
    sent: {
      label: `${method} ${maskUrl(url, key)}`,
      headers: maskHeaders(init?.headers ?? request?.headers, key),
      text: typeof body === "string" ? maskKey(body, key) : "",
    },
  };
}
