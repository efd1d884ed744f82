import type { UIMessage } from "ai";
import type { ApprovalId, ChatHold, Decision, MessageId, ToolCallId, ToolPart, UiMessage } from "../protocol.js";
import { isSettled, toolPartOf, toolPartsOf } from "../tools/tool-part.js";

/** The server's record of a chat. */
export type ChatRecord = {
  /** `GET /api/chat/{id}/messages`, without the message that is being written. */
  stored: readonly UiMessage[];
  /** `GET /api/chat/{id}/holds`. */
  holds: readonly ChatHold[];
};

/** Local state that the record does not contain. */
export type Local = {
  /** User messages that the server has not stored. */
  unsent: ReadonlySet<MessageId>;
  /** Approval requests whose decision is being sent. They are shown as open until it is in force. */
  undecided: ReadonlySet<ApprovalId>;
  /** A message that arrives over another connection. Only its decisions are updated here. */
  followed?: MessageId | undefined;
};

/** Whether the server is writing an answer: the record omits it and ends with the user message. */
export function isBeingWritten({ stored }: Pick<ChatRecord, "stored">): boolean {
  return stored.at(-1)?.role === "user";
}

/** Calls that have an outcome. */
export function settledCalls(messages: readonly { parts?: unknown }[]): ToolCallId[] {
  return messages
    .flatMap(toolPartsOf)
    .filter(isSettled)
    .map(({ toolCallId }) => toolCallId);
}

/**
 * The messages of the record, plus the message being written and those the server never received. Unchanged messages
 * keep their identity, and so does an unchanged list, to avoid re-rendering.
 */
export function mergeRecord<UI_MESSAGE extends UIMessage>(
  shown: readonly UI_MESSAGE[],
  record: ChatRecord,
  local: Local,
): readonly UI_MESSAGE[] {
  const { stored } = record;
  const decided = (message: UI_MESSAGE) => withDecisions(message, record.holds, local.undecided);
  // The server does not know the chat, so there is nothing to merge.
  if (stored.length === 0) return sameAs(shown, shown.map(decided));
  const known = new Map(shown.map((message) => [message.id, message]));
  const merged = stored.map((theirs) => {
    const ours = known.get(theirs.id);
    if (ours !== undefined && theirs.id === local.followed) return decided(ours);
    return ours !== undefined && isSame(ours, theirs) ? ours : (theirs as unknown as UI_MESSAGE);
  });
  const ids = new Set(stored.map(({ id }) => id));
  const lastAt = shown.findIndex(({ id }) => id === stored.at(-1)?.id);
  // A message can arrive before the one that it answers was read: after a reload, say.
  const isWritten = ({ id, role }: UI_MESSAGE, at: number) =>
    role === "assistant" && !ids.has(id) && (lastAt === -1 ? id === local.followed : at > lastAt);
  const written = isBeingWritten(record) ? shown.filter(isWritten).map(decided) : [];
  const unsent = shown.filter(({ id }) => local.unsent.has(id) && !ids.has(id));
  return sameAs(shown, [...merged, ...written, ...unsent]);
}

/**
 * The messages, with all but the last taken from the record: the last is being written here. The message it answers may
 * come from another tab, and a chat that has just been opened has nothing before it yet.
 */
export function mergeEarlier<UI_MESSAGE extends UIMessage>(
  shown: readonly UI_MESSAGE[],
  record: Pick<ChatRecord, "stored">,
): readonly UI_MESSAGE[] {
  const theirs = new Map(record.stored.map((message) => [message.id, message]));
  const ids = new Set(shown.map(({ id }) => id));
  const last = shown.at(-1);
  const isWritten = last?.role === "assistant" && !theirs.has(last.id);
  const firstShown = record.stored.findIndex(({ id }) => ids.has(id));
  const isMissing = firstShown === -1 && isBeingWritten(record) && (last === undefined || isWritten);
  const before = record.stored.slice(0, isMissing ? record.stored.length : Math.max(0, firstShown));
  const merged = shown.slice(0, -1).map((ours) => {
    const message = theirs.get(ours.id);
    return message === undefined || isSame(ours, message) ? ours : (message as unknown as UI_MESSAGE);
  });
  const asked = record.stored.at(-1);
  const isAnswered = asked !== undefined && isBeingWritten(record) && !ids.has(asked.id) && isWritten;
  if (isAnswered && !isMissing) merged.push(asked as unknown as UI_MESSAGE);
  const earlier = before as unknown[] as UI_MESSAGE[];
  return sameAs(shown, [...earlier, ...merged, ...(last === undefined ? [] : [last])]);
}

/**
 * Whether a call of an earlier message is shown as open although it is settled, because a newer message superseded it.
 */
export function hasOutdated(shown: readonly UIMessage[], holds: readonly ChatHold[]): boolean {
  const settled = new Set(holds.filter(({ state }) => state === "settled").map(({ toolCallId }) => toolCallId));
  const earlier = shown.slice(0, -1).flatMap(toolPartsOf);
  return earlier.some((tool) => !isSettled(tool) && settled.has(tool.toolCallId));
}

/** A message with the decisions in force: no stream reports that a call was approved. */
function withDecisions<UI_MESSAGE extends UIMessage>(
  message: UI_MESSAGE,
  holds: readonly ChatHold[],
  undecided: ReadonlySet<ApprovalId>,
): UI_MESSAGE {
  const answer = (part: UI_MESSAGE["parts"][number]) => {
    const tool = toolPartOf(part);
    const { approval } = tool ?? {};
    if (tool?.state !== "approval-requested" || approval === undefined || undecided.has(approval.id)) return part;
    const hold = holds.find(({ approvalId }) => approvalId === approval.id);
    return hold?.decision === undefined ? part : (decidedPart(tool, hold, hold.decision) as unknown as typeof part);
  };
  const parts = message.parts.map(answer);
  return parts.every((part, at) => part === message.parts[at]) ? message : { ...message, parts };
}

function decidedPart(tool: ToolPart, { input }: ChatHold, { kind, reason }: Decision): ToolPart {
  const id = tool.approval?.id ?? "";
  const approval = { ...tool.approval, id, approved: kind !== "deny", ...(reason !== undefined && { reason }) };
  // The input that an approver has put in place of the model's is the one that runs.
  return { ...tool, state: "approval-responded", approval, ...(kind === "edit" && { input }) };
}

function isSame(ours: UIMessage, theirs: UiMessage): boolean {
  return JSON.stringify(ours) === JSON.stringify(theirs);
}

function sameAs<T>(before: readonly T[], after: readonly T[]): readonly T[] {
  const isSameList = before.length === after.length && after.every((each, at) => each === before[at]);
  return isSameList ? before : after;
}
