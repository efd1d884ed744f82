/** Stands for what is not shown. */
const MASKED = "•••";

/** Headers whose values are harmless. Any other may identify the user. */
const HARMLESS = /^(accept|content-type|user-agent|x-holdpoint-[a-z-]+)$/;

/** Query parameters that a server takes as proof of identity. */
const SECRET_PARAMETERS = ["ticket", "key", "token"];

/** Replaces the API key, wherever it occurs. */
export function maskKey(text: string, key: string | undefined): string {
  return key === undefined || key === "" ? text : text.replaceAll(key, MASKED);
}

/** The headers, with the values of all but harmless ones masked. */
export function maskHeaders(headers: HeadersInit | undefined, key: string | undefined): Record<string, string> {
  return Object.fromEntries(
    [...new Headers(headers)].map(([name, value]) => [name, HARMLESS.test(name) ? maskKey(value, key) : MASKED]),
  );
}

/** The path and query of a URL, without tickets. */
export function maskUrl(url: URL, key: string | undefined): string {
  const query = new URLSearchParams(url.search);
  for (const name of SECRET_PARAMETERS) if (query.has(name)) query.set(name, MASKED);
  const text = query.size > 0 ? `?${decodeURIComponent(query.toString())}` : "";
  return maskKey(`${url.pathname}${text}`, key);
}
