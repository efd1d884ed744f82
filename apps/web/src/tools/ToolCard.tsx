import { getToolName } from "ai";
import type { PendingApproval } from "holdpoint";
import { useRef } from "react";
import type { ToolInfo } from "../api/types";
import { ApprovalActions } from "./ApprovalActions";
import { OpenUrlRow } from "./OpenUrlRow";
import { StatusPill } from "./StatusPill";
import { ToolIcon } from "./ToolIcon";
import { ToolInput } from "./ToolInput";
import { ToolOutcome } from "./ToolOutcome";
import { type AnyToolPart, toolStatus } from "./toolStatus";

export interface ToolCardProps {
  part: AnyToolPart;
  tool: ToolInfo | undefined;
  /** What the inbox says about its open question: when it expires, why it is asked. */
  pending: PendingApproval | undefined;
  /** Why this browser's run, or the telling of its result, failed. */
  browserError: string | undefined;
  /** Missing in a replay: nothing can be decided there. */
  actions: ToolActions | undefined;
}

export interface ToolActions {
  decide: (approvalId: string, approved: boolean, reason?: string) => void;
  retry: (toolCallId: string) => void;
}

/** One tool call: what is asked, with which input, what came of it. */
export function ToolCard({ part, tool, pending, browserError, actions }: ToolCardProps) {
  const card = useRef<HTMLElement>(null);
  const name = getToolName(part);
  const title = part.title ?? tool?.title ?? name;
  const status = toolStatus(part, tool);
  const isAsking = part.state === "approval-requested";
  const { toolCallId } = part;
  return (
    <section
      ref={card}
      className="tool-card"
      data-tone={status.tone}
      data-state={part.state}
      data-tool={name}
      data-call={toolCallId}
      aria-label={`${title}: ${status.label}`}
      tabIndex={-1}
    >
      <header className="tool-card__head">
        <span className="tool-card__icon">
          <ToolIcon name={name} />
        </span>
        <h2 className="tool-card__title">
          {title}
          <code className="tool-card__name">{name}</code>
        </h2>
        <StatusPill status={status} />
      </header>
      {isAsking && (
        <p className="tool-card__ask">
          <strong>May the assistant do this?</strong> {tool?.description}
          {pending?.reason && <span className="tool-card__why"> {pending.reason}.</span>}
        </p>
      )}
      {part.input !== undefined && <ToolInput part={part} title={title} tool={tool} />}
      {isAsking && actions && (
        <ApprovalActions
          subject={title}
          pending={pending}
          onDecide={(approved, reason) => {
            actions.decide(part.approval.id, approved, reason);
            // The buttons go away; whoever used them by keyboard stays at this card.
            card.current?.focus();
          }}
        />
      )}
      {isAsking && !actions && (
        <p className="tool-card__note">The question stands open at this point of the capture.</p>
      )}
      {part.state === "approval-responded" && !part.approval.approved && (
        <p className="tool-card__note">
          You said no{part.approval.reason ? `: ${part.approval.reason}` : ""}. The assistant is being told.
        </p>
      )}
      <ToolOutcome part={part} title={title} />
      {browserError !== undefined && (
        <p className="tool-card__error" role="alert">
          {browserError}
        </p>
      )}
      {name === "open-url" && actions && <OpenUrlRow part={part} onRetry={() => actions.retry(toolCallId)} />}
      {name !== "open-url" && browserError !== undefined && actions && (
        <button type="button" className="button" onClick={() => actions.retry(toolCallId)}>
          Try again
        </button>
      )}
    </section>
  );
}
