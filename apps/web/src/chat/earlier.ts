import type { ChatHold } from "holdpoint";

export interface Attempts {
  /** Those that a message took the place of. */
  of: (messageId: string) => readonly ChatHold[];
  /** Those whose message is not shown: its answer has not come yet. */
  others: readonly ChatHold[];
}

const NONE: readonly ChatHold[] = [];

/** The calls of turns that were regenerated or edited away, by the message that shows them. */
export function attemptsOf(holds: readonly ChatHold[] | undefined, messages: readonly { id: string }[]): Attempts {
  const cut = holds?.filter((hold) => hold.cut) ?? NONE;
  if (cut.length === 0) return { of: () => NONE, others: NONE };
  return {
    of: (messageId) => cut.filter((hold) => hold.messageId === messageId),
    others: cut.filter(({ messageId }) => messages.every(({ id }) => id !== messageId)),
  };
}
