import type { ChatHold, ChatId, MessageId } from "../protocol.js";
import { chatPath, ifKnown } from "./chats.js";
import type { RequestOptions, Server } from "./server.js";

/** Which calls are listed: `held` lists those that are or were held, `all` also lists those that just ran. */
export type ListedCalls = "held" | "all";

/** What waits for a person or a browser, or did. */
export class Holds {
  readonly #server: Server;

  constructor(server: Server) {
    this.#server = server;
  }

  /**
   * The holds of a chat with their decisions and outcomes, in call order. Empty for a chat that the server does not know.
   */
  async ofChat(
    chatId: ChatId,
    { calls, signal }: RequestOptions & { calls?: ListedCalls | undefined } = {},
  ): Promise<ChatHold[]> {
    const path = chatPath(chatId, `/holds${calls === "all" ? "?calls=all" : ""}`);
    return await ifKnown(this.#server.json<ChatHold[]>(path, { signal }), []);
  }
}

/** Calls of turns that were regenerated or edited away. What they did remains done. */
export type EarlierAttempts = {
  /** By the message that took their place. */
  byMessage: ReadonlyMap<MessageId, readonly ChatHold[]>;
  /** Those whose message is not shown, because its answer has not arrived yet. */
  others: readonly ChatHold[];
};

/** The calls among `holds` that are no longer in any message, because their turn was superseded. */
export function earlierAttempts(
  holds: readonly ChatHold[] | undefined,
  messages: readonly { id: MessageId }[],
): EarlierAttempts {
  const byMessage = new Map<MessageId, ChatHold[]>();
  const others: ChatHold[] = [];
  const shown = new Set(messages.map(({ id }) => id));
  for (const hold of holds ?? []) {
    if (!hold.cut) continue;
    if (hold.messageId === undefined || !shown.has(hold.messageId)) others.push(hold);
    else byMessage.set(hold.messageId, [...(byMessage.get(hold.messageId) ?? []), hold]);
  }
  return { byMessage, others };
}
