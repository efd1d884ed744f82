import type { Chat, UseChatHelpers } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import { useMemo } from "react";
import type { ApprovalId, ToolCallId } from "../protocol.js";
import type { ApprovalDecision } from "../server/approval-decision.js";
import type { SettledDecision } from "../server/decisions.js";
import { toolPartsOf } from "../tools/tool-part.js";
import type { ChatFollower } from "./chat-follower.js";
import type { HoldpointSession } from "./holdpoint-session.js";

/** Submits decisions and results. Each is shown only once the server has it. */
export type SubmissionHelpers<UI_MESSAGE extends UIMessage> = Pick<
  UseChatHelpers<UI_MESSAGE>,
  "addToolApprovalResponse" | "addToolOutput" | "addToolResult"
> & {
  /**
   * Decides a request: approves, denies, approves another input, or answers in the tool's place, as far as `allowed` of
   * its hold says so. Resolves once the decision is in force or refused.
   */
  decide: (approvalId: ApprovalId, decision: ApprovalDecision) => Promise<SettledDecision>;
  /** Approves a request. Resolves once the decision is in force or refused. */
  approve: (approvalId: ApprovalId, reason?: string) => Promise<SettledDecision>;
  /** Denies a request. Resolves once the decision is in force or refused. */
  deny: (approvalId: ApprovalId, reason?: string) => Promise<SettledDecision>;
};

/** Sends decisions and results to the server, and shows them once the server has them. */
export function useSubmissions<UI_MESSAGE extends UIMessage>({
  chat,
  session,
  follower,
}: {
  chat: Chat<UI_MESSAGE>;
  session: HoldpointSession<UI_MESSAGE>;
  follower: ChatFollower<UI_MESSAGE>;
}): SubmissionHelpers<UI_MESSAGE> {
  return useMemo(() => {
    const decide = async (id: ApprovalId, decision: ApprovalDecision) => {
      const settled = await session.approvals.decide(id, decision);
      if (settled.state === "in-force") {
        // A live connection delivers the continuation. Elsewhere the SDK requests it now, once nothing is left to
        // decide.
        const call = callOf(chat.messages, id);
        if (call !== undefined && settled.kind === "edit") session.setInput(call, settled.input);
        if (session.live !== undefined && call !== undefined) session.autoSend?.delivered([`approval:${call}`]);
        const { approved, reason } = settled;
        await chat.addToolApprovalResponse({ id, approved, ...(reason !== undefined && { reason }) });
      }
      await follower.refresh();
      return settled;
    };
    const addToolOutput = async (result: {
      tool: unknown;
      toolCallId: ToolCallId;
      output?: unknown;
      state?: "output-available" | "output-error";
      errorText?: string;
    }) => {
      const { tool, toolCallId, output, state, errorText = "The tool failed." } = result;
      const call = { toolCallId, toolName: String(tool), input: undefined };
      await session.executor.submitResult(
        call,
        state === "output-error" ? { error: new Error(errorText) } : { output },
      );
      await follower.refresh();
    };
    const answer = (id: ApprovalId, approved: boolean, reason?: string) =>
      decide(id, { approved, ...(reason !== undefined && { reason }) });
    return {
      decide,
      approve: (id, reason) => answer(id, true, reason),
      deny: (id, reason) => answer(id, false, reason),
      addToolApprovalResponse: async ({ id, approved, reason }) => void (await answer(id, approved, reason)),
      // The SDK's types depend on the message type's tools, which are irrelevant here.
      addToolOutput: addToolOutput as UseChatHelpers<UI_MESSAGE>["addToolOutput"],
      addToolResult: addToolOutput as UseChatHelpers<UI_MESSAGE>["addToolResult"],
    };
  }, [chat, session, follower]);
}

function callOf(messages: readonly UIMessage[], approvalId: ApprovalId): ToolCallId | undefined {
  return messages.flatMap(toolPartsOf).find(({ approval }) => approval?.id === approvalId)?.toolCallId;
}
