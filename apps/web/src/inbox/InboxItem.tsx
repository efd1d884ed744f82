import type { DecisionProgress } from "holdpoint";
import type { ChatHold } from "holdpoint/protocol";
import { useHolds } from "holdpoint/react";
import { MessageSquare } from "lucide-react";
import { useServer } from "../api/server";
import type { ToolSpec } from "../api/types";
import { navigate } from "../shell/route";
import { useMe } from "../shell/useMe";
import { Untrusted } from "../text/Untrusted";
import type { Decide } from "../tools/ApprovalActions";
import { CallCard } from "../tools/CallCard";
import { type CallState, callStateOf } from "../tools/callState";
import { hasVoted } from "./entry";
import type { Entry } from "./useInboxList";

interface Props {
  entry: Entry;
  tool: ToolSpec | undefined;
  chatTitle: string | undefined;
  isCurrentChat: boolean;
  progress: DecisionProgress | undefined;
  decide: Decide;
}

/** An approval request in the inbox, and its outcome. */
export function InboxItem({ entry, tool, chatTitle, isCurrentChat, progress, decide }: Props) {
  const { approval, isWaiting } = entry;
  const { approvalId, toolCallId, chatId, toolName } = approval;
  const me = useMe();
  const holds = useHolds(!isWaiting || progress !== undefined ? chatId : undefined, useServer());
  const hold = holds?.find((candidate) => candidate.toolCallId === toolCallId);
  const known = callStateOf({ hold, progress, tool, allowed: approval.allowed });
  // The record of another's chat is not for this user to read.
  const isForeign = me !== undefined && approval.requestedBy !== me.subject && holds?.length === 0;
  const hasLeft = !isWaiting && (known.kind === "approval-requested" || isForeign);
  const state = hasLeft ? leftTheList(holds, isForeign) : known;
  return (
    <CallCard
      call={{
        toolCallId,
        toolName,
        input: hold?.input ?? approval.input,
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
            ? "The server has no record of it any more: its chat was deleted."
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

/** It is no longer waiting. The record has the reason, once it is read and for as long as it exists. */
function leftTheList(holds: readonly ChatHold[] | undefined, isForeign: boolean): CallState {
  return holds === undefined ? { kind: "ending" } : { kind: "gone", isForeign };
}
