import type { ApprovalDecision, DecisionProgress } from "holdpoint";
import { callStatus } from "holdpoint";
import type { ApprovalRecord, PendingApproval } from "holdpoint/protocol";
import { ArrowLeft } from "lucide-react";
import { type ReactNode, type Ref, type RefObject, useEffect, useRef, useState } from "react";
import { currentClient } from "../api/server";
import type { ToolSpec } from "../api/types";
import { CopyButton } from "../shell/CopyButton";
import { useMe } from "../shell/useMe";
import { Untrusted } from "../text/Untrusted";
import { ApprovalActions, type ApprovalKeys, type Decide } from "../tools/ApprovalActions";
import { type CardLabel, cardLabel } from "../tools/callStatus";
import { DecisionTrouble } from "../tools/DecisionTrouble";
import { useGuarded } from "../tools/guard";
import { Headline } from "../tools/Headline";
import { cardOf } from "../tools/registry";
import { StatusPill } from "../tools/StatusPill";
import { ToolIcon } from "../tools/ToolIcon";
import { useWriting } from "../tools/useWriting";
import { ReviewTabs } from "../value/ReviewTabs";
import { useUnread } from "../value/useUnread";
import { ConfirmGrant } from "./ConfirmGrant";
import { allows, present } from "./entry";
import { PaneFacts } from "./PaneFacts";
import { Receipt } from "./Receipt";
import { GrantNote, RememberField } from "./RememberField";
import { recordedState } from "./receipt";
import { breadthOf, type RememberChoice, rememberOf } from "./remember";
import { hasVoted } from "./votes";

type Approval = Extract<ApprovalDecision, { approved: true }>;

interface Props {
  entry: PendingApproval;
  tool: ToolSpec | undefined;
  /** The title of its chat, if it is one of this user's. */
  chatTitle: string | undefined;
  progress: DecisionProgress | undefined;
  decide: Decide;
  /** Whether it can still be decided. If not, it stays as it was read, and says what has become of it. */
  isOpen: boolean;
  /** What has become of it, as far as it is known. */
  record?: ApprovalRecord | undefined;
  /** The server has no record of it that this user may see: its chat was deleted, say. */
  isMissing?: boolean;
  /** Whether somebody writes: a reason, another input, an answer. */
  onBusy?: (isBusy: boolean) => void;
  keys?: Ref<ApprovalKeys>;
  /** Gets the focus when a request is opened. */
  frame?: RefObject<HTMLElement | null>;
  /** Back to the list, where the list is not beside it. */
  onBack?: (() => void) | undefined;
  /** Where to go from here, once it has ended. */
  after?: ReactNode;
}

/** One approval request as a whole: what it is about, who asked, who has approved, all of the input, and the actions. */
export function ReviewPane(props: Props) {
  const { entry, tool, chatTitle, progress, decide, isOpen, record, isMissing = false, keys, onBusy, onBack } = props;
  const own = useRef<HTMLElement>(null);
  const frame = props.frame ?? own;
  const me = useMe();
  const isGuarded = useGuarded();
  const [choice, setChoice] = useState<RememberChoice>();
  /** An approval whose grant has to be confirmed. */
  const [unconfirmed, setUnconfirmed] = useState<Approval>();
  const { title, description, schema, headline, subject } = present(entry, tool);
  // Unlike the id of a call, that of an approval request is never used twice.
  const inputId = `${entry.approvalId} input`;
  const unseen = useUnread(inputId, entry.input, schema);
  const state = callStatus(undefined, { decision: progress, tool, request: entry, subject: me?.subject });
  const isVoted = hasVoted(entry, me?.subject);
  const isAsking = isOpen && ["approval-requested", "sending", "retrying"].includes(state.kind);
  const mayDecide = isAsking && entry.allowed.length > 0;
  const remember = choice && rememberOf(choice, currentClient().now());
  const isInvalid = choice !== undefined && remember === undefined;
  const isUnlimited = choice !== undefined && breadthOf(choice) === "unlimited";

  const confirmed = (decision: Approval) => decide({ ...decision, ...(remember && { remember }) });
  const send = (decision: ApprovalDecision) => {
    if (decision.approved !== true) decide(decision);
    // An edit has a second step already, which says the same.
    else if (isUnlimited && decision.input === undefined) setUnconfirmed(decision);
    else if (!isInvalid) confirmed(decision);
  };
  const writing = useWriting({
    ...{ frame, title, subject, input: entry.input, schema, progress },
    isOpen: isAsking,
    warning: choice && <GrantNote choice={choice} owner={entry.requestedBy} />,
    // What is being written stays, even when it can no longer be sent and nothing is allowed.
    decide: send,
  });
  const [isDenying, setIsDenying] = useState(false);
  const isBusy = writing.isWriting || isDenying;
  useEffect(() => {
    onBusy?.(isBusy);
    return () => onBusy?.(false);
  }, [onBusy, isBusy]);
  return (
    <section
      ref={frame}
      className="pane"
      tabIndex={-1}
      aria-label={subject}
      data-approval={entry.approvalId}
      data-call-state={isOpen ? state.kind : "ended"}
      data-armed={!isGuarded}
      data-unseen={unseen}
    >
      <header className="pane__head">
        {onBack && (
          <button type="button" className="icon-button" aria-label="Back to the list" onClick={onBack}>
            <ArrowLeft size={18} aria-hidden="true" />
          </button>
        )}
        <span className="tool-card__icon">
          <ToolIcon name={entry.toolName} />
        </span>
        <h2 className="pane__title">
          <Headline pieces={headline} />
          <code className="tool-card__name">
            <Untrusted text={entry.toolName} />
          </code>
        </h2>
        <StatusPill status={isOpen ? cardLabel(state) : endedStatus(record, tool)} />
      </header>
      <PaneFacts
        entry={entry}
        chatTitle={chatTitle}
        isOpen={isOpen}
        hasVotes={record?.decision === undefined || record.decision.kind === "deny"}
        me={me?.subject}
      />
      <div className="pane__body">
        <div className="pane__about">
          <p className="tool-card__ask">
            {description && <Untrusted text={description} />}{" "}
            {entry.reason && (
              <span className="tool-card__why">
                <Untrusted text={entry.reason} />.
              </span>
            )}
          </p>
          <CopyButton
            text={() => `${location.origin}/hold/${encodeURIComponent(entry.approvalId)}`}
            label="Copy link"
          />
        </div>
        <ReviewTabs id={inputId} title={title} subject="Input" value={entry.input} schema={schema} />
      </div>
      <footer className="pane__foot">
        {!isOpen && isBusy && (
          <p className="tool-card__error" role="alert">
            This request was decided elsewhere, or has ended. What you write here can no longer be sent.
          </p>
        )}
        <DecisionTrouble state={state} progress={progress} />
        {isVoted && isAsking && (
          <p className="tool-card__note" role="status">
            <b>Your approval counts.</b> Others have to approve as well. You can still deny.
          </p>
        )}
        {mayDecide && unconfirmed === undefined && allows(entry, "remember") && !isVoted && (
          <RememberField choice={choice} owner={entry.requestedBy} isInvalid={isInvalid} onChange={setChoice} />
        )}
        {mayDecide && unconfirmed !== undefined && choice !== undefined && (
          <ConfirmGrant
            choice={choice}
            owner={entry.requestedBy}
            subject={subject}
            onSend={() => {
              setUnconfirmed(undefined);
              confirmed(unconfirmed);
            }}
            onBack={() => {
              setUnconfirmed(undefined);
              frame.current?.focus();
            }}
          />
        )}
        {((mayDecide && unconfirmed === undefined) || isDenying) && (
          <ApprovalActions
            {...(keys && { keys })}
            onDenying={setIsDenying}
            isEnded={!isOpen}
            obstacle={isInvalid ? "Give a number of calls, or leave it empty" : undefined}
            subject={subject}
            isTold={!cardOf(entry.toolName).isUntold}
            sending={state.kind === "sending" || state.kind === "retrying" ? state.sent : undefined}
            allowed={entry.allowed}
            unseen={unseen}
            hasVoted={isVoted}
            approveLabel={
              choice === undefined ? "Approve" : isUnlimited ? "Approve and remember…" : "Approve and remember"
            }
            onDecide={send}
            onReview={() => frame.current?.querySelector<HTMLElement>(".review__next")?.click()}
            onEdit={() => writing.write("edit")}
            onAnswer={() => writing.write("answer")}
            onGone={() => frame.current?.focus()}
          />
        )}
        {isAsking && !mayDecide && <p className="tool-card__note">You can view this request, but not decide it.</p>}
        {isOpen && !isAsking && (
          <p className="tool-card__note" role="status">
            <b>Your decision is in force.</b>
          </p>
        )}
        {/* Always there, so that what comes into it is read out. */}
        <div className="pane__ended" role="status" hidden={isOpen || isBusy}>
          {!isOpen && !isBusy && (
            <>
              {record === undefined ? (
                <p>
                  <b>This request has ended.</b>{" "}
                  {isMissing &&
                    "The server no longer has a record of it for you: its chat was deleted, or it has other approvers."}
                </p>
              ) : (
                <Receipt record={record} tool={tool} title={title} progress={progress} />
              )}
              {props.after}
            </>
          )}
        </div>
      </footer>
      {writing.dialog}
    </section>
  );
}

/** What has become of a request that is no longer open. */
function endedStatus(record: ApprovalRecord | undefined, tool: ToolSpec | undefined): CardLabel {
  return record === undefined ? { label: "Ended", tone: "quiet" } : cardLabel(recordedState(record, tool));
}
