import type { DecisionProgress } from "holdpoint";
import type { ChatHold } from "holdpoint/protocol";
import { useHolds } from "holdpoint/react";
import { MessageSquare } from "lucide-react";
import { useServer } from "../api/server";
import type { ToolSpec } from "../api/types";
import { navigate } from "../shell/route";
import { Untrusted } from "../text/Untrusted";
import type { Decide } from "../tools/ApprovalActions";
import { CallCard } from "../tools/CallCard";
import { type CallState, callStateOf } from "../tools/callState";
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
  const { approvalId, toolCallId, chatId, toolName, input } = approval;
  const holds = useHolds(!isWaiting || progress !== undefined ? chatId : undefined, useServer());
  const hold = holds?.find((candidate) => candidate.toolCallId === toolCallId);
  const known = callStateOf({ hold, progress, tool });
  const state = isWaiting || known.kind !== "approval-requested" ? known : leftTheList(holds);
  return (
    <CallCard
      call={{
        toolCallId,
        toolName,
        input,
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
        <p className="tool-card__note">The server has no record of it any more: its chat was deleted.</p>
      )}
      {tool?.execution === "frontend" && isWaiting && (
        <p className="tool-card__note">It will run in a browser that has the chat open.</p>
      )}
    </CallCard>
  );
}

/** It is no longer waiting. The record has the reason, once it is read and for as long as it exists. */
function leftTheList(holds: readonly ChatHold[] | undefined): CallState {
  return holds === undefined ? { kind: "ending" } : { kind: "gone" };
}
