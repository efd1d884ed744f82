import type { ToolSpec } from "../protocol.js";
import { Server } from "./server.js";
import type { ServerOptions } from "./server-options.js";

/** The server's tools: where each runs, and whether it needs an approval. */
export async function fetchTools(
  options: ServerOptions & { signal?: AbortSignal | undefined } = {},
): Promise<ToolSpec[]> {
  return await new Server(options).json<ToolSpec[]>("/api/tools", { signal: options.signal });
}
