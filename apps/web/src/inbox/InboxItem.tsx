import { type CallStatus, callStatus, type DecisionProgress } from "holdpoint";
import { useApproval } from "holdpoint/react";
import { MessageSquare } from "lucide-react";
import { useServer } from "../api/server";
import type { ToolSpec } from "../api/types";
import { navigate } from "../shell/route";
import { useMe } from "../shell/useMe";
import { Untrusted } from "../text/Untrusted";
import type { Decide } from "../tools/ApprovalActions";
import { CallCard } from "../tools/CallCard";
import type { CardState } from "../tools/callStatus";
import { inputOf, recordedState } from "./receipt";
import type { Entry } from "./useInboxList";
import { hasVoted } from "./votes";

interface Props {
  entry: Entry;
  tool: ToolSpec | undefined;
  chatTitle: string | undefined;
  isCurrentChat: boolean;
  progress: DecisionProgress | undefined;
  decide: Decide;
}

/** It has left the list, and its record is being read. */
const LEFT: CallStatus = { kind: "ending", label: "Finishing", text: "", tone: "busy", trouble: undefined };

/** An approval request in the inbox, and its outcome. */
export function InboxItem({ entry, tool, chatTitle, isCurrentChat, progress, decide }: Props) {
  const { approval, isWaiting } = entry;
  const { approvalId, toolCallId, chatId, toolName } = approval;
  const me = useMe();
  const isRead = !isWaiting || progress !== undefined;
  const { record, error } = useApproval(isRead ? approvalId : undefined, useServer());
  const isOwn = me !== undefined && approval.requestedBy === me.subject;
  const state = stateOf();

  function stateOf(): CardState {
    // Its chat was deleted, or others decide now.
    if (error?.status === 404) return { kind: "gone", isForeign: !isOwn };
    const isOver = record !== undefined && (record.decision !== undefined || record.state === "settled");
    if (isOver) return recordedState(record, tool);
    const known = callStatus(undefined, { decision: progress, tool, request: approval, subject: me?.subject });
    return !isWaiting && known.kind === "approval-requested" ? LEFT : known;
  }

  return (
    <CallCard
      call={{
        toolCallId,
        toolName,
        input: record === undefined ? approval.input : inputOf(record),
        state,
        progress,
        request: {
          requestedAt: approval.requestedAt,
          expiresAt: approval.expiresAt ?? undefined,
          reason: approval.reason ?? undefined,
        },
      }}
      tool={tool}
      lead="Approval"
      template={approval.headline}
      hasVoted={hasVoted(approval, me?.subject)}
      decide={decide}
      isFixed
      attributes={{ "data-approval": approvalId, "data-chat": chatId }}
      context={
        <button
          type="button"
          className="inbox-item__chat"
          aria-current={isCurrentChat ? "true" : undefined}
          onClick={() => navigate({ chatId, isNew: false })}
        >
          <MessageSquare size={13} aria-hidden="true" />
          <span>
            <Untrusted text={chatTitle ?? chatId} />
          </span>
        </button>
      }
    >
      {state.kind === "gone" && (
        <p className="tool-card__note">
          {!state.isForeign
            ? "The server no longer has a record of it: its chat was deleted."
            : progress?.state === "in-force"
              ? "Your decision is in force."
              : "It was decided by somebody else, or has ended."}
        </p>
      )}
      {tool?.execution === "frontend" && isWaiting && (
        <p className="tool-card__note">It will run in a browser that has the chat open.</p>
      )}
    </CallCard>
  );
}
