import type { UIMessage } from "ai";
import type { ToolCallId, ToolPart, UiMessage } from "../protocol.js";
import { toolPartOf } from "../tools/tool-part.js";

/** Whether a question in the message waits for an answer. */
export function isAsking(message: UIMessage | undefined): boolean {
  return message !== undefined && toolsOf(message).some((tool) => tool.state === "approval-requested");
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
  return [...messages.slice(0, -1), theirs as unknown as UI_MESSAGE];
}

function toolsOf(message: { parts: readonly { type: string }[] }): ToolPart[] {
  return message.parts.map(toolPartOf).filter((tool) => tool !== undefined);
}
