import type { ChatHold, ChatId } from "../protocol.js";
import { Server } from "./server.js";
import { ServerError } from "./server-error.js";
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
    const response = await new Server(options).request(path, { signal: options.signal });
    return (await response.json()) as ChatHold[];
  } catch (error) {
    if (error instanceof ServerError && error.status === 404) return [];
    throw error;
  }
}
