import type { UIMessage } from "ai";
import { useMemo } from "react";
import { type CallStatus, callStatus } from "../calls/call-status.js";
import type { ApprovalId, ChatHold, ToolCallId, ToolSpec } from "../protocol.js";
import type { DecisionProgress } from "../server/decisions.js";
import type { ToolProgress } from "../tools/frontend-tool-executor.js";
import { nameOfTool, toolPartsOf } from "../tools/tool-part.js";

/** What a chat knows of its calls. */
type Known = {
  messages: readonly UIMessage[];
  holds: readonly ChatHold[] | undefined;
  decisions: Readonly<Record<ApprovalId, DecisionProgress>>;
  toolRuns: Readonly<Record<ToolCallId, ToolProgress>>;
  tools: readonly ToolSpec[] | undefined;
};

/** `callStatus` for the calls of a chat, by their ids. A new function whenever an answer may have changed. */
export function useCallStatus(known: Known): (toolCallId: ToolCallId) => CallStatus {
  const { messages, holds, decisions, toolRuns, tools } = known;
  const calls = useMemo(() => {
    const parts = new Map(messages.flatMap(toolPartsOf).map((part) => [part.toolCallId, part]));
    return { parts, holds: new Map(holds?.map((hold) => [hold.toolCallId, hold])) };
  }, [messages, holds]);
  return useMemo(
    () => (toolCallId) => {
      const part = calls.parts.get(toolCallId);
      const hold = calls.holds.get(toolCallId);
      const approvalId = hold?.approvalId ?? part?.approval?.id;
      const toolName = part === undefined ? hold?.toolName : nameOfTool(part);
      return callStatus(part, {
        hold,
        decision: approvalId === undefined ? undefined : decisions[approvalId],
        run: toolRuns[toolCallId],
        tool: tools?.find(({ name }) => name === toolName),
      });
    },
    [calls, decisions, toolRuns, tools],
  );
}
