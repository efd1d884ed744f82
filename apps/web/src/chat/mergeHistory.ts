import { isToolUIPart, type UIMessage } from "ai";

type Part = UIMessage["parts"][number];

/** A call goes through these in order and never back. */
const PROGRESS = ["input-streaming", "input-available", "approval-requested", "approval-responded"];

/**
 * The server's record, with what this tab knows and the server does not yet: an answer or a result that is on its way.
 * Messages that say the same keep their identity, so that nothing is drawn again.
 */
export function mergeHistory(shown: readonly UIMessage[], stored: readonly UIMessage[]): UIMessage[] {
  return stored.map((message) => {
    const known = shown.find(({ id }) => id === message.id);
    if (known === undefined) return message;
    const merged = { ...message, parts: message.parts.map((part) => further(part, known)) };
    return JSON.stringify(merged) === JSON.stringify(known) ? known : merged;
  });
}

/** Whether the server is writing an answer right now: its record leaves that out, and ends with the question. */
export function isBeingWritten(stored: readonly UIMessage[]): boolean {
  return stored.at(-1)?.role === "user";
}

function further(part: Part, known: UIMessage): Part {
  if (!isToolUIPart(part)) return part;
  const { toolCallId } = part;
  const ours = known.parts.find((other) => isToolUIPart(other) && other.toolCallId === toolCallId);
  return ours !== undefined && progress(ours) > progress(part) ? ours : part;
}

function progress(part: Part): number {
  const place = isToolUIPart(part) ? PROGRESS.indexOf(part.state) : -1;
  return place === -1 ? PROGRESS.length : place;
}
