import type { ChatHold, MessageId } from "../protocol.js";

/** Calls of turns that were regenerated or edited away. What they did remains done. */
export type EarlierAttempts = {
  /** By the message that took their place. */
  byMessage: ReadonlyMap<MessageId, readonly ChatHold[]>;
  /** Those whose message is not shown, because its answer has not arrived yet. */
  others: readonly ChatHold[];
};

/** The calls among `holds` that are in none of the messages any more, because their turn was superseded. */
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
