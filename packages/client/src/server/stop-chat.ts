import type { ChatId } from "../protocol.js";
import { Server, ServerError } from "./server.js";
import type { ServerOptions } from "./server-options.js";

/** Stops the turn of a chat: what runs is cancelled, and what waits is closed. A chat that does not exist has nothing to stop. */
export async function stopChat(chatId: ChatId, options: ServerOptions = {}): Promise<void> {
  try {
    await new Server(options).request(`/api/chat/${encodeURIComponent(chatId)}/stop`, { method: "POST" });
  } catch (error) {
    if (!(error instanceof ServerError && error.status === 404)) throw error;
  }
}
