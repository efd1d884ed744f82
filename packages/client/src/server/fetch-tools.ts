import type { ChatId, ToolSpec } from "../protocol.js";
import { Server } from "./server.js";
import type { ServerOptions } from "./server-options.js";

/** The server's tools, or those of one chat: where each runs, and whether it needs an approval. */
export async function fetchTools(
  options: ServerOptions & { chatId?: ChatId | undefined; signal?: AbortSignal | undefined } = {},
): Promise<ToolSpec[]> {
  const query = options.chatId === undefined ? "" : `?chatId=${encodeURIComponent(options.chatId)}`;
  return await new Server(options).json<ToolSpec[]>(`/api/tools${query}`, { signal: options.signal });
}
