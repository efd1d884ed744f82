import type { ChatId } from "../protocol.js";
import { isUnknown } from "./holdpoint-error.js";
import { Server } from "./server.js";
import type { ServerOptions } from "./server-options.js";

/**
 * Deletes a chat: its turn is stopped, its holds are withdrawn. This can't be undone, and undoes nothing that its tools
 * did. Does nothing for an unknown chat.
 */
export async function deleteChat(
  chatId: ChatId,
  options: ServerOptions & { signal?: AbortSignal | undefined } = {},
): Promise<void> {
  try {
    const path = `/api/chat/${encodeURIComponent(chatId)}`;
    await new Server(options).request(path, { method: "DELETE", signal: options.signal });
  } catch (error) {
    if (!isUnknown(error)) throw error;
  }
}
