import type { ApprovalDecision, DecisionProgress } from "holdpoint";
import { serverNow } from "holdpoint";
import type { PendingApproval } from "holdpoint/protocol";
import { ArrowLeft, Clock3, Flame, MessageSquare, UserRound, Users } from "lucide-react";
import { Fragment, type ReactNode, type Ref, type RefObject, useEffect, useRef, useState } from "react";
import { serverOptions } from "../api/server";
import type { ToolSpec } from "../api/types";
import { CopyButton } from "../shell/CopyButton";
import { navigate } from "../shell/route";
import { useMe } from "../shell/useMe";
import { Untrusted } from "../text/Untrusted";
import { ApprovalActions, type ApprovalKeys, type Decide } from "../tools/ApprovalActions";
import { Countdown } from "../tools/Countdown";
import { callStateOf } from "../tools/callState";
import { callStatus } from "../tools/callStatus";
import { DecisionTrouble } from "../tools/DecisionTrouble";
import { useGuarded } from "../tools/guard";
import { Headline } from "../tools/Headline";
import { cardOf } from "../tools/registry";
import { StatusPill } from "../tools/StatusPill";
import { Time } from "../tools/Time";
import { ToolIcon } from "../tools/ToolIcon";
import { useWriting } from "../tools/useWriting";
import { ReviewTabs } from "../value/ReviewTabs";
import { useUnread } from "../value/useUnread";
import { allows, hasVoted, present } from "./entry";
import { RememberField } from "./RememberField";
import { type RememberChoice, rememberOf } from "./remember";

interface Props {
  entry: PendingApproval;
  tool: ToolSpec | undefined;
  /** The title of its chat, if it is one of this user's. */
  chatTitle: string | undefined;
  progress: DecisionProgress | undefined;
  decide: Decide;
  /** Whether it can still be decided. */
  isOpen: boolean;
  /** It has ended while somebody writes about it, and is shown until they are done. */
  isGone?: boolean;
  /** Whether somebody writes: a reason, another input, an answer. */
  onBusy?: (isBusy: boolean) => void;
  keys?: Ref<ApprovalKeys>;
  /** Gets the focus when a request is opened. */
  frame?: RefObject<HTMLElement | null>;
  /** Back to the list, where the list is not beside it. */
  onBack?: (() => void) | undefined;
  /** Rendered in place of the actions, once it has ended. */
  ended?: ReactNode;
}

/** One approval request as a whole: what it is about, who asked, who has approved, all of the input, and the actions. */
export function ReviewPane(props: Props) {
  const { entry, tool, chatTitle, progress, decide, isOpen, isGone = false, keys, onBusy, onBack, ended } = props;
  const own = useRef<HTMLElement>(null);
  const frame = props.frame ?? own;
  const me = useMe();
  const isGuarded = useGuarded();
  const [choice, setChoice] = useState<RememberChoice>();
  const { title, description, schema, headline, subject } = present(entry, tool);
  // Unlike the id of a call, that of an approval request is never used twice.
  const inputId = `${entry.approvalId} input`;
  const unseen = useUnread(inputId, entry.input, schema);
  const state = callStateOf({ progress, tool, allowed: entry.allowed });
  const isVoted = hasVoted(entry, me?.subject);
  const isAsking = isOpen && ["approval-requested", "sending", "retrying"].includes(state.kind);
  const mayDecide = isAsking && entry.allowed.length > 0;
  const remember = choice && rememberOf(choice, serverNow(serverOptions()));
  const isInvalid = choice !== undefined && remember === undefined;

  const send = (decision: ApprovalDecision) => {
    if (decision.approved !== true) decide(decision);
    else if (!isInvalid) decide({ ...decision, ...(remember && { remember }) });
  };
  const writing = useWriting({
    ...{ frame, title, subject, input: entry.input, schema, progress },
    isOpen: isAsking && !isGone,
    // What is being written stays, also when it can't be sent any more.
    decide: entry.allowed.length > 0 ? send : undefined,
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
        <StatusPill status={isOpen ? callStatus(state) : { label: "Ended", tone: "quiet" }} />
      </header>
      <dl className="pane__facts">
        <Fact icon={UserRound} name="Requested by">
          <Untrusted text={entry.requestedBy} />
        </Fact>
        <Fact icon={MessageSquare} name="Chat">
          {chatTitle === undefined ? (
            <code>
              <Untrusted text={entry.chatId} />
            </code>
          ) : (
            <button
              type="button"
              className="link-button"
              onClick={() => navigate({ chatId: entry.chatId, isNew: false })}
            >
              <Untrusted text={chatTitle || "Untitled"} />
            </button>
          )}
        </Fact>
        <Fact icon={Clock3} name="Asked">
          <Time iso={entry.requestedAt} />
          {isOpen && entry.expiresAt && <Countdown requestedAt={entry.requestedAt} expiresAt={entry.expiresAt} />}
        </Fact>
        {entry.votes && (
          <Fact icon={Users} name="Approved by">
            <Votes by={entry.votes.by} quorum={entry.votes.quorum} me={me?.subject} />
          </Fact>
        )}
        {entry.isEscalated && (
          <Fact icon={Flame} name="Escalated">
            Nobody decided in time, so more people were asked.
          </Fact>
        )}
      </dl>
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
        {isGone && (
          <p className="tool-card__error" role="alert">
            This request was decided elsewhere, or has ended. What you write here can't be sent any more.
          </p>
        )}
        <DecisionTrouble state={state} progress={progress} />
        {isVoted && isAsking && (
          <p className="tool-card__note" role="status">
            <b>Your approval counts.</b> Others have to approve as well. You can still deny.
          </p>
        )}
        {mayDecide && allows(entry, "remember") && !isVoted && (
          <RememberField choice={choice} owner={entry.requestedBy} isInvalid={isInvalid} onChange={setChoice} />
        )}
        {mayDecide && (
          <ApprovalActions
            {...(keys && { keys })}
            onDenying={setIsDenying}
            subject={subject}
            isTold={!cardOf(entry.toolName).isUntold}
            sending={state.kind === "sending" || state.kind === "retrying" ? state.sent : undefined}
            allowed={entry.allowed}
            unseen={unseen}
            hasVoted={isVoted}
            approveLabel={choice === undefined ? "Approve" : "Approve and remember"}
            onDecide={send}
            onReview={() => frame.current?.querySelector<HTMLElement>(".review__next")?.click()}
            onEdit={() => writing.write("edit")}
            onAnswer={() => writing.write("answer")}
            onGone={() => frame.current?.focus()}
          />
        )}
        {isAsking && !mayDecide && <p className="tool-card__note">Others decide this. You can only look at it.</p>}
        {isOpen && !isAsking && (
          <p className="tool-card__note" role="status">
            <b>Your decision is in force.</b>
          </p>
        )}
        {!isOpen && ended}
      </footer>
      {writing.dialog}
    </section>
  );
}

function Fact({ icon: Icon, name, children }: { icon: typeof Clock3; name: string; children: ReactNode }) {
  return (
    <div className="pane__fact">
      <dt>
        <Icon size={14} aria-hidden="true" />
        {name}
      </dt>
      <dd>{children}</dd>
    </div>
  );
}

function Votes({ by, quorum, me }: { by: readonly string[]; quorum: number; me: string | undefined }) {
  return (
    <>
      <span className="votes" aria-hidden="true">
        {Array.from({ length: Math.min(quorum, 12) }, (_, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the places of a quorum do not move
          <span key={at} className="votes__place" data-given={at < by.length} />
        ))}
      </span>
      <span>
        {by.length} of {quorum}
        {by.map((name, at) => (
          <Fragment key={name}>
            {at === 0 ? ": " : ", "}
            <b>{name === me ? "you" : <Untrusted text={name} />}</b>
          </Fragment>
        ))}
      </span>
    </>
  );
}
