import type { UIMessage } from "ai";
import type { ApprovalId, ToolCallId, ToolPart, UiMessage } from "../protocol.js";
import { toolPartOf } from "../tools/tool-part.js";

/** Whether a question in the message waits for an answer. */
export function isAsking(message: UIMessage | undefined): boolean {
  return openQuestions(message).length > 0;
}

/** Calls that the server has settled. */
export function settledCalls(messages: readonly (UIMessage | UiMessage)[]): ToolCallId[] {
  const settled = messages.flatMap(toolsOf).filter((tool) => tool.state.startsWith("output-"));
  return settled.map((tool) => tool.toolCallId);
}

/**
 * The messages, with the last one as the server has stored it, if a question in it was decided meanwhile; else `undefined`.
 * `only: "approved"` takes it over for nothing but an approval, where outcomes come by another way.
 */
export function mergeStored<UI_MESSAGE extends UIMessage>(
  messages: readonly UI_MESSAGE[],
  stored: readonly UiMessage[],
  only?: "approved",
): UI_MESSAGE[] | undefined {
  const last = messages.at(-1);
  const theirs = stored.find((message) => message.id === last?.id);
  if (last === undefined || theirs === undefined) return undefined;
  const states = new Map(toolsOf(theirs).map((tool) => [tool.toolCallId, tool]));
  const isDecided = (tool: ToolPart) => {
    const now = states.get(tool.toolCallId);
    if (tool.state !== "approval-requested" || now === undefined || now.state === "approval-requested") return false;
    return only === undefined || (now.state === "approval-responded" && now.approval?.approved === true);
  };
  if (!toolsOf(last).some(isDecided)) return undefined;
  // What was answered here and not sent yet, since another question was open, is further than the server knows.
  const ours = new Map(toolsOf(last).map((tool) => [tool.toolCallId, tool]));
  const parts = theirs.parts.map((part) => {
    const tool = toolPartOf(part);
    const own = tool && ours.get(tool.toolCallId);
    return own !== undefined && tool !== undefined && stage(own) > stage(tool) ? own : part;
  });
  return [...messages.slice(0, -1), { ...theirs, parts } as unknown as UI_MESSAGE];
}

const STAGES: ToolPart["state"][] = ["input-streaming", "input-available", "approval-requested", "approval-responded"];

/** How far a call is; with an outcome it is at the end. */
function stage({ state }: ToolPart): number {
  const at = STAGES.indexOf(state);
  return at === -1 ? STAGES.length : at;
}

/** The calls that wait for an answer. */
export function openQuestions(message: UIMessage | undefined): { tool: ToolPart; approvalId: ApprovalId }[] {
  const asked = message === undefined ? [] : toolsOf(message).filter((tool) => tool.state === "approval-requested");
  return asked.flatMap((tool) => (tool.approval === undefined ? [] : [{ tool, approvalId: tool.approval.id }]));
}

/** The messages with one question of the last one answered with yes. */
export function withApproval<UI_MESSAGE extends UIMessage>(
  messages: readonly UI_MESSAGE[],
  approvalId: ApprovalId,
): UI_MESSAGE[] {
  const answer = (part: { type: string }) => {
    const tool = toolPartOf(part);
    if (tool?.approval?.id !== approvalId || tool.state !== "approval-requested") return part;
    return { ...tool, state: "approval-responded", approval: { ...tool.approval, approved: true } };
  };
  return messages.map((message, at) =>
    at === messages.length - 1 ? ({ ...message, parts: message.parts.map(answer) } as UI_MESSAGE) : message,
  );
}

function toolsOf(message: { parts: readonly { type: string }[] }): ToolPart[] {
  return message.parts.map(toolPartOf).filter((tool) => tool !== undefined);
}
