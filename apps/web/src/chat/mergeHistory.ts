import { isToolUIPart, type UIMessage } from "ai";

/**
 * The server's record, with what this tab knows and the server does not yet: an answer that waits until the other questions
 * of the step are answered too. Messages that say the same keep their identity, so that nothing is drawn again.
 */
export function mergeHistory(shown: readonly UIMessage[], stored: readonly UIMessage[]): UIMessage[] {
  return stored.map((message) => {
    const known = shown.find(({ id }) => id === message.id);
    if (known === undefined) return message;
    const merged = { ...message, parts: message.parts.map((part) => keepAnswer(part, known)) };
    return JSON.stringify(merged) === JSON.stringify(known) ? known : merged;
  });
}

function keepAnswer(part: UIMessage["parts"][number], known: UIMessage): UIMessage["parts"][number] {
  if (!isToolUIPart(part) || part.state !== "approval-requested") return part;
  const { toolCallId } = part;
  const answered = known.parts.find(
    (other) => isToolUIPart(other) && other.toolCallId === toolCallId && other.state === "approval-responded",
  );
  return answered ?? part;
}
