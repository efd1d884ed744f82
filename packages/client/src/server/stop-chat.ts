import type { ChatId } from "../protocol.js";
import { isUnknown } from "./holdpoint-error.js";
import { Server } from "./server.js";
import type { ServerOptions } from "./server-options.js";

/** Stops the turn of a chat: running calls are cancelled and holds are closed. Does nothing for an unknown chat. */
export async function stopChat(
  chatId: ChatId,
  options: ServerOptions & { signal?: AbortSignal | undefined } = {},
): Promise<void> {
  try {
    const path = `/api/chat/${encodeURIComponent(chatId)}/stop`;
    await new Server(options).request(path, { method: "POST", signal: options.signal });
  } catch (error) {
    if (!isUnknown(error)) throw error;
  }
}
