import type { ChatHold, ChatId } from "../protocol.js";
import { Server } from "./server.js";
import { ServerError } from "./server-error.js";
import type { ServerOptions } from "./server-options.js";

/** Which calls are listed: `held` are those that wait or waited for somebody, `all` are those that only ran as well. */
export type ListedCalls = "held" | "all";

/**
 * What waits in a chat, what was decided about it and how it ended, in the order in which the calls were made. A chat that the server
 * does not know has none.
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
