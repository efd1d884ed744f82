import type { ChatSummary } from "../protocol.js";
import { Server } from "./server.js";
import type { ServerOptions } from "./server-options.js";

/** The user's chats, most recently changed first. */
export async function fetchChats(
  options: ServerOptions & { signal?: AbortSignal | undefined } = {},
): Promise<ChatSummary[]> {
  return await new Server(options).json<ChatSummary[]>("/api/chats", { signal: options.signal });
}
