import type { ChatHold, ChatId } from "../protocol.js";
import { isUnknown } from "./holdpoint-error.js";
import { Server } from "./server.js";
import type { ServerOptions } from "./server-options.js";

/** Which calls are listed: `held` lists those that are or were held, `all` also lists those that just ran. */
export type ListedCalls = "held" | "all";

/**
 * The holds of a chat with their decisions and outcomes, in call order. Empty for a chat that the server does not know.
 */
export async function fetchHolds(
  chatId: ChatId,
  options: ServerOptions & { calls?: ListedCalls | undefined; signal?: AbortSignal | undefined } = {},
): Promise<ChatHold[]> {
  try {
    const path = `/api/chat/${encodeURIComponent(chatId)}/holds${options.calls === "all" ? "?calls=all" : ""}`;
    return await new Server(options).json<ChatHold[]>(path, { signal: options.signal });
  } catch (error) {
    if (isUnknown(error)) return [];
    throw error;
  }
}
