import type { ChatSummary } from "../protocol.js";
import { readPages } from "./read-pages.js";
import { Server } from "./server.js";
import type { ServerOptions } from "./server-options.js";

/** The user's chats, most recently changed first. */
export async function fetchChats(
  options: ServerOptions & { signal?: AbortSignal | undefined } = {},
): Promise<ChatSummary[]> {
  return await readPages<ChatSummary>(new Server(options), "/api/chats", options.signal);
}
