import { useContext, useMemo } from "react";
import { ApprovalsContext } from "../inbox/ApprovalsContext";
import type { CallLookup } from "./callRecords";
import type { useSession } from "./useSession";

/** The server's record of a chat's calls, and this page's actions on them. */
export function useCallLookup(session: ReturnType<typeof useSession>): CallLookup {
  // A chat may have tools of its own.
  const { tools, holds, decisions, toolRuns, decide, retry } = session;
  const { approvals } = useContext(ApprovalsContext);
  return useMemo(() => {
    const toolByName = new Map(tools?.map((tool) => [tool.name, tool]));
    const holdByCall = new Map(holds?.map((hold) => [hold.toolCallId, hold]));
    return {
      toolNamed: (name) => toolByName.get(name),
      holdOf: (toolCallId) => holdByCall.get(toolCallId),
      pendingOf: (approvalId) => approvals?.find((approval) => approval.approvalId === approvalId),
      progressOf: (approvalId) => decisions[approvalId],
      runOf: (toolCallId) => toolRuns[toolCallId],
      actions: {
        decide: (approvalId, decision) => void decide(approvalId, decision),
        retry,
      },
    };
  }, [tools, holds, approvals, decisions, toolRuns, decide, retry]);
}
