import type { ChatHold } from "holdpoint/protocol";

const NONE: readonly ChatHold[] = [];

/** The calls of turns that were regenerated or edited away, by the message that superseded them. */
export function attemptsOf(
  holds: readonly ChatHold[] | undefined,
): ReadonlyMap<string | undefined, readonly ChatHold[]> {
  const attempts = new Map<string | undefined, ChatHold[]>();
  for (const hold of holds ?? NONE) {
    if (!hold.cut) continue;
    const known = attempts.get(hold.messageId);
    if (known) known.push(hold);
    else attempts.set(hold.messageId, [hold]);
  }
  return attempts;
}

/** Those whose message is not shown, because its answer has not arrived yet. */
export function othersOf(
  attempts: ReadonlyMap<string | undefined, readonly ChatHold[]>,
  messages: readonly { id: string }[],
): readonly ChatHold[] {
  if (attempts.size === 0) return NONE;
  const shown = new Set<string | undefined>(messages.map(({ id }) => id));
  return [...attempts].flatMap(([messageId, holds]) => (shown.has(messageId) ? [] : holds));
}
