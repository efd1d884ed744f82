import { Server } from "./server.js";
import type { ServerOptions } from "./server-options.js";
import type { ToolSpec } from "./tool-spec.js";

/** The server's tools: which run here, and which need an approval. */
export async function fetchTools(
  options: ServerOptions & { signal?: AbortSignal | undefined } = {},
): Promise<ToolSpec[]> {
  const response = await new Server(options).request("/api/tools", { signal: options.signal });
  return (await response.json()) as ToolSpec[];
}
