/** The id in a response of `/health`. Only servers that share their log with others have one. */
export function nodeOf(body: unknown): string | undefined {
  if (typeof body !== "object" || body === null || !("node" in body)) return undefined;
  return typeof body.node === "string" && /^[0-9a-f]{32}$/.test(body.node) ? body.node : undefined;
}

/** The id of the node that answers now. This needs no key. */
export async function readNode(signal: AbortSignal): Promise<string | undefined> {
  const response = await fetch("/health", { signal });
  return response.ok ? nodeOf(await response.json()) : undefined;
}
