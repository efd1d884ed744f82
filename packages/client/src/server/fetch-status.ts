import type { ServerStatus } from "../protocol.js";
import { Server } from "./server.js";
import type { ServerOptions } from "./server-options.js";

/** What the server consists of: model, MCP servers, tools and their policies, limits. It needs the role `admin`. */
export async function fetchStatus(
  options: ServerOptions & { signal?: AbortSignal | undefined } = {},
): Promise<ServerStatus> {
  return await new Server(options).json<ServerStatus>("/api/status", { signal: options.signal });
}
