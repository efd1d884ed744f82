import type { DecisionProgress } from "holdpoint";
import { type KeyboardEvent, type ReactNode, useRef, useState } from "react";
import type { ToolSpec } from "../api/types";
import { Changes } from "../edit/Changes";
import { visible } from "../text/runs";
import { Untrusted } from "../text/Untrusted";
import { Review } from "../value/Review";
import { useUnread } from "../value/useUnread";
import { ValuePreview } from "../value/ValuePreview";
import { ApprovalActions, type Decide } from "./ApprovalActions";
import { CallOutcome } from "./CallOutcome";
import { Countdown } from "./Countdown";
import { type CardState, cardLabel } from "./callStatus";
import { DecisionLine } from "./DecisionLine";
import { DecisionTrouble } from "./DecisionTrouble";
import { unlessGuarded } from "./guard";
import { Headline } from "./Headline";
import { headlineOf } from "./headline";
import { cardOf } from "./registry";
import { StatusPill } from "./StatusPill";
import { subjectOf, summaryOf } from "./subject";
import { ToolIcon } from "./ToolIcon";
import { useWriting } from "./useWriting";

/** A call, wherever it is shown: in its chat, in the inbox, as an earlier attempt. */
export interface Call {
  toolCallId: string;
  toolName: string;
  title?: string | undefined;
  input: unknown;
  state: CardState;
  /** Its open approval request. */
  request: ApprovalRequest | undefined;
  /** This page's own decision on it. */
  progress: DecisionProgress | undefined;
}

export interface ApprovalRequest {
  requestedAt: string;
  expiresAt: string | undefined;
  /** Why an approval is needed. */
  reason: string | undefined;
}

interface Props {
  call: Call;
  tool: ToolSpec | undefined;
  /** A prefix for the card's name, before the call's title. */
  lead?: string;
  /** `undefined` where nothing can be decided, as in a replay. */
  decide: Decide | undefined;
  /** Keeps the card's height as stable as possible after the decision, so that the content below does not move. */
  isFixed?: boolean;
  /** Collapses the result. */
  isCompact?: boolean;
  /** The tool's template of a headline, where the server gives it. */
  template?: string | undefined;
  /** Whether this user's approval is counted already, and others have to approve. */
  hasVoted?: boolean;
  /** Rendered under the title. */
  context?: ReactNode;
  /** Rendered at the end. */
  children?: ReactNode;
  /** For tests and styles. */
  attributes?: Record<`data-${string}`, string | boolean | undefined>;
}

/** One tool call: its input, its approval request, the decision and the outcome. */
export function CallCard(props: Props) {
  const { call, tool, lead, decide, isFixed, isCompact, hasVoted, context, children, attributes } = props;
  const card = useRef<HTMLElement>(null);
  const [isReviewing, setIsReviewing] = useState(false);
  const { toolCallId, toolName, input, state, request, progress } = call;
  const schema = tool?.inputSchema;
  const title = call.title ?? tool?.title ?? toolName;
  // An input that is still being written would change the headline with every chunk.
  const headline =
    state.kind === "preparing"
      ? [{ text: title, isValue: false }]
      : headlineOf({ toolName, title, input, schema, template: props.template });
  const subject = subjectOf(title, input, schema);
  const status = cardLabel(state);
  // Lines seen while the input is still streaming may change.
  const inputId = state.kind === "preparing" ? `${toolCallId} draft` : toolCallId;
  const unseen = useUnread(inputId, input, schema);
  const isOpen = state.kind === "approval-requested" || state.kind === "sending" || state.kind === "retrying";
  const mayDecide = isOpen && !(state.kind === "approval-requested" && !state.mayDecide);

  const allowed = isOpen && mayDecide ? state.allowed : [];
  const { question, isUntold } = cardOf(toolName);
  const isTold = !isUntold;
  const writing = useWriting({ frame: card, title, subject, input, schema, isOpen, progress, decide });
  const write = (what: "edit" | "answer") => {
    setIsReviewing(false);
    writing.write(what);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const isTyping = event.target instanceof Element && event.target.closest("input, textarea, select, dialog");
    // Dialogs of this card are its children to React, but elsewhere in the page.
    const isInside = event.target instanceof Node && card.current?.contains(event.target);
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (event.key.toLowerCase() !== "e" || !isPlain || isTyping || !isInside) return;
    if (decide === undefined || state.kind !== "approval-requested" || !allowed.includes("edit")) return;
    event.preventDefault();
    write("edit");
  };

  const actions = (extra: { onReview?: () => void; onGone?: () => void; onDecided?: () => void; beside?: ReactNode }) =>
    mayDecide &&
    decide && (
      <ApprovalActions
        subject={subject}
        isTold={isTold}
        sending={state.kind === "approval-requested" ? undefined : state.sent}
        allowed={allowed}
        unseen={unseen}
        hasVoted={hasVoted ?? false}
        onDecide={(decision) => {
          extra.onDecided?.();
          decide(decision);
        }}
        onEdit={() => write("edit")}
        onAnswer={() => write("answer")}
        onReview={extra.onReview}
        onGone={extra.onGone}
      >
        {extra.beside}
      </ApprovalActions>
    );
  return (
    <section
      ref={card}
      className="tool-card"
      data-tone={status.tone}
      data-tool={toolName}
      data-call={toolCallId}
      data-call-state={state.kind}
      aria-label={`${lead ? `${lead}: ` : ""}${subject}: ${status.label}`}
      tabIndex={-1}
      onKeyDown={onKeyDown}
      {...attributes}
    >
      <header className="tool-card__head">
        <span className="tool-card__icon">
          <ToolIcon name={toolName} />
        </span>
        <h2 className="tool-card__title">
          <Headline pieces={headline} />
          <code className="tool-card__name">
            <Untrusted text={toolName} />
          </code>
        </h2>
        <StatusPill status={status} />
      </header>
      {context}
      {(isOpen || isFixed) && (
        <p className="tool-card__ask">
          {isOpen && <strong>{question ?? "May the assistant do this?"}</strong>}{" "}
          {tool?.description && <Untrusted text={tool.description} />}{" "}
          {request?.reason && (
            <span className="tool-card__why">
              <Untrusted text={request.reason} />.
            </span>
          )}
        </p>
      )}
      {input !== undefined && (
        <Fold isFolded={!isFixed && state.kind === "settled"} summary={summaryOf(input, schema).join(" · ")}>
          <ValuePreview
            id={inputId}
            caption={`Input of ${title}`}
            value={input}
            schema={schema}
            unseen={mayDecide ? unseen : 0}
            onReview={unlessGuarded(() => setIsReviewing(true))}
          />
        </Fold>
      )}
      {actions({
        onReview: () => setIsReviewing(true),
        onGone: () => card.current?.focus(),
        beside: request?.expiresAt && <Countdown requestedAt={request.requestedAt} expiresAt={request.expiresAt} />,
      })}
      {isOpen && !decide && <p className="tool-card__note">Waiting for a decision at this point of the capture.</p>}
      {isOpen && !mayDecide && <p className="tool-card__note">Waiting for an approver.</p>}
      <DecisionTrouble state={state} progress={progress} />
      <DecisionLine state={state} progress={progress} />
      <DecisionChanges state={state} input={input} />
      <CallOutcome
        id={toolCallId}
        state={state}
        title={visible(title)}
        isCompact={isCompact || isFixed}
        isTold={isTold}
      />
      {children}
      {isReviewing && (
        <Review
          id={inputId}
          title={title}
          subject="Input"
          value={input}
          schema={schema}
          onClose={() => setIsReviewing(false)}
          footer={actions({ onDecided: () => setIsReviewing(false) })}
        />
      )}
      {writing.dialog}
    </section>
  );
}

/** What an approver has changed in the input, as recorded. */
function DecisionChanges({ state, input }: { state: CardState; input: unknown }) {
  const decision = state.kind === "running" || state.kind === "settled" ? state.decision : undefined;
  if (decision?.kind !== "edit" || decision.originalInput === undefined) return null;
  return <Changes before={decision.originalInput} after={input} />;
}

/** The call's input, collapsed to a summary once the call is settled. */
function Fold({ isFolded, summary, children }: { isFolded: boolean; summary: string; children: ReactNode }) {
  if (!isFolded) return children;
  return (
    <details className="tool-card__fold">
      <summary>
        Input <bdi className="tool-card__summary">{summary}</bdi>
      </summary>
      {children}
    </details>
  );
}
