import type { PendingApproval } from "holdpoint";
import { MessageSquare } from "lucide-react";
import { useState } from "react";
import { ApiError, getJson } from "../api/http";
import { approvalsStore } from "../api/resources";
import type { ToolInfo } from "../api/types";
import { recorderOf } from "../inspector/recorder";
import { navigate } from "../shell/route";
import { ApprovalActions } from "../tools/ApprovalActions";
import { ToolIcon } from "../tools/ToolIcon";
import { ValueTable } from "../tools/ValueTable";

interface Props {
  approval: PendingApproval;
  tool: ToolInfo | undefined;
  chatTitle: string | undefined;
  isCurrentChat: boolean;
}

export function InboxItem({ approval, tool, chatTitle, isCurrentChat }: Props) {
  const [problem, setProblem] = useState<string>();
  const { approvalId, chatId, toolName } = approval;
  const title = tool?.title ?? toolName;

  const decide = async (approved: boolean, reason?: string) => {
    setProblem(undefined);
    recorderOf(chatId).mark({ type: "decided", approvalId, approved });
    try {
      await getJson(`/api/approvals/${encodeURIComponent(approvalId)}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ approved, ...(reason !== undefined && { reason }) }),
      });
    } catch (error) {
      setProblem(explain(error));
    }
    approvalsStore.refresh();
  };
  return (
    <section className="inbox-item" aria-label={`Approval: ${title}`} data-approval={approvalId} data-chat={chatId}>
      <header className="tool-card__head">
        <span className="tool-card__icon">
          <ToolIcon name={toolName} />
        </span>
        <h2 className="tool-card__title">
          {title}
          <code className="tool-card__name">{toolName}</code>
        </h2>
      </header>
      <button
        type="button"
        className="inbox-item__chat"
        aria-current={isCurrentChat ? "true" : undefined}
        onClick={() => navigate({ chatId, isNew: false })}
      >
        <MessageSquare size={13} aria-hidden="true" />
        <span>{chatTitle ?? chatId}</span>
      </button>
      {approval.reason && <p className="tool-card__note">{approval.reason}.</p>}
      <ValueTable caption={`Input of ${title}`} value={approval.input} tool={tool} />
      {tool?.execution === "frontend" && (
        <p className="tool-card__note">It will run in a browser that has the chat open.</p>
      )}
      <ApprovalActions
        subject={title}
        pending={approval}
        onDecide={(approved, reason) => void decide(approved, reason)}
      />
      {problem !== undefined && (
        <p className="tool-card__error" role="alert">
          {problem}
        </p>
      )}
    </section>
  );
}

function explain(error: unknown): string {
  if (error instanceof ApiError && error.status === 409) return "Somebody has already decided otherwise.";
  if (error instanceof ApiError && error.status === 410) return "Too late: the question is closed.";
  return error instanceof Error ? error.message : String(error);
}
