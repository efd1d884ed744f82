import type { ChatId, UiMessage } from "../protocol.js";
import { isUnknown } from "./holdpoint-error.js";
import { Server } from "./server.js";
import type { ServerOptions } from "./server-options.js";

/** The stored messages of a chat, including open approval requests. Empty for a chat that the server does not know. */
export async function fetchMessages(
  chatId: ChatId,
  options: ServerOptions & { signal?: AbortSignal | undefined } = {},
): Promise<UiMessage[]> {
  try {
    const path = `/api/chat/${encodeURIComponent(chatId)}/messages`;
    const response = await new Server(options).request(path, { signal: options.signal });
    return (await response.json()) as UiMessage[];
  } catch (error) {
    if (isUnknown(error)) return [];
    throw error;
  }
}
