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

/** Whether the last message has an answer that the server has not got, and no question any more that it would wait for. */
export function hasUnsentAnswer(merged: readonly UIMessage[], stored: readonly UIMessage[]): boolean {
  const ours = callsOf(merged.at(-1));
  const theirs = callsOf(stored.at(-1));
  if (ours.some(({ state }) => state === "approval-requested")) return false;
  return theirs.some(({ state }) => state === "approval-requested");
}

function callsOf(message: UIMessage | undefined) {
  return message?.parts.filter(isToolUIPart) ?? [];
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
