import type { ApprovalDecision } from "holdpoint";
import type { Allowed, DecisionKind } from "holdpoint/protocol";
import { Check, LoaderCircle, MessageSquareReply, Pencil, X } from "lucide-react";
import {
  type MouseEvent,
  type ReactNode,
  type Ref,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { DenyForm } from "./DenyForm";
import { guardDecisions, isGuarded, useArmed } from "./guard";

export type Decide = (decision: ApprovalDecision) => void;

/** The same as the buttons, for keys. Each does nothing where its button would do nothing. */
export interface ApprovalKeys {
  approve: () => void;
  deny: () => void;
  edit: () => void;
  answer: () => void;
}

interface Props {
  /** The subject of the decision, for screen readers. */
  subject: string;
  /** Whether the assistant gets the reason of a denial. */
  isTold: boolean;
  /** The decision that is being sent. */
  sending: DecisionKind | undefined;
  /** What this user may do. */
  allowed: readonly Allowed[];
  /** How many lines of the input have not been in view. */
  unseen: number;
  onDecide: Decide;
  /** Shows the whole input; omitted where it is already shown. */
  onReview?: (() => void) | undefined;
  /** Opens the form for another input. */
  onEdit: () => void;
  /** Opens the form for an answer in the tool's place. */
  onAnswer: () => void;
  /** Moves the focus when the buttons disappear. */
  onGone?: () => void;
  /** Rendered next to the buttons. */
  children?: ReactNode;
  /** Whether this user's approval is counted already, and others have to approve. */
  hasVoted?: boolean;
  /** What the button that approves says. */
  approveLabel?: string;
  keys?: Ref<ApprovalKeys>;
  /** The request has ended while somebody writes a reason: it can no longer be decided. */
  isEnded?: boolean;
  /** Why nothing can be approved as it is: what is to be remembered does not fit. A denial needs none of it. */
  obstacle?: string | undefined;
  /** Whether somebody writes a reason. */
  onDenying?: (isDenying: boolean) => void;
}

/**
 * Approve, deny with a reason, and where it is allowed: change the input, or answer in the tool's place. Rendered while the approval request is open, and inert while the decision is being
 * sent.
 */
export function ApprovalActions(props: Props) {
  const { subject, isTold, sending, allowed, unseen, onDecide, onReview, onEdit, onAnswer, onGone, children } = props;
  const { hasVoted = false, approveLabel = "Approve", keys, onDenying, isEnded = false, obstacle } = props;
  const [isDenying, setIsDenying] = useState(false);
  const row = useRef<HTMLDivElement>(null);
  const { isArmed, accepts } = useArmed(row);
  const isOpen = isArmed && sending === undefined && !isEnded;
  const gone = useRef(onGone);
  gone.current = onGone;

  useLayoutEffect(() => {
    const element = row.current;
    return () => {
      if (element?.contains(document.activeElement)) gone.current?.();
    };
  }, []);

  useEffect(() => onDenying?.(isDenying), [onDenying, isDenying]);

  const decide = (decision: ApprovalDecision) => {
    if (isEnded) return;
    guardDecisions();
    setIsDenying(false);
    onDecide(decision);
  };
  /** A button that decides nothing yet, and is inert like the others. */
  const opens = (open: () => void) => (event: MouseEvent) => {
    if (sending === undefined && !isEnded && accepts(event)) open();
  };
  const approve = (event: MouseEvent) => {
    if (sending !== undefined || obstacle !== undefined || !accepts(event)) return;
    if (unseen > 0 && onReview !== undefined) onReview();
    else decide({ approved: true });
  };
  const isIdle = () => sending === undefined && !isDenying && !isEnded && !isGuarded();
  useImperativeHandle(keys, () => ({
    // A key approves only what has been in view as a whole. Otherwise it shows the rest.
    approve: () => {
      if (!isIdle() || hasVoted || obstacle !== undefined || !allowed.includes("approve")) return;
      if (unseen > 0) onReview?.();
      else decide({ approved: true });
    },
    deny: () => {
      if (isIdle() && allowed.includes("deny")) setIsDenying(true);
    },
    edit: () => {
      if (isIdle() && obstacle === undefined && allowed.includes("edit")) onEdit();
    },
    answer: () => {
      if (isIdle() && allowed.includes("answer")) onAnswer();
    },
  }));
  return (
    <div className="approval" ref={row}>
      {isDenying && sending === undefined ? (
        <DenyForm
          subject={subject}
          isTold={isTold}
          isEnded={isEnded}
          onDeny={(reason) => decide({ approved: false, ...(reason !== undefined && { reason }) })}
          onCancel={() => setIsDenying(false)}
        />
      ) : (
        <div className="approval__row">
          {!hasVoted && (
            <button
              type="button"
              className={unseen > 0 && onReview === undefined ? "button" : "button button--ok"}
              aria-label={`${approveLabel}: ${subject}${unseen > 0 && onReview ? `. Shows ${lines(unseen)} not seen yet first` : ""}`}
              aria-disabled={!isOpen || obstacle !== undefined}
              title={obstacle}
              onClick={approve}
            >
              <Sign isSending={sending === "approve"} Icon={Check} />
              {approveText(approveLabel, unseen, onReview !== undefined)}
            </button>
          )}
          <button
            type="button"
            className="button button--bad"
            aria-label={`Deny: ${subject}`}
            aria-disabled={!isOpen}
            onClick={opens(() => setIsDenying(true))}
          >
            <Sign isSending={sending === "deny"} Icon={X} />
            Deny
          </button>
          {allowed.includes("edit") && (
            <button
              type="button"
              className="button"
              aria-label={`Edit: ${subject}`}
              aria-keyshortcuts="E"
              aria-disabled={!isOpen || obstacle !== undefined}
              title={obstacle}
              onClick={opens(() => obstacle === undefined && onEdit())}
            >
              <Sign isSending={sending === "edit"} Icon={Pencil} />
              Edit
            </button>
          )}
          {allowed.includes("answer") && (
            <button
              type="button"
              className="button"
              aria-label={`Answer in the tool's place: ${subject}`}
              aria-disabled={!isOpen}
              onClick={opens(onAnswer)}
            >
              <Sign isSending={sending === "answer"} Icon={MessageSquareReply} />
              Answer
            </button>
          )}
          {children}
        </div>
      )}
    </div>
  );
}

function approveText(label: string, unseen: number, opensReview: boolean): string {
  if (unseen === 0) return label;
  return opensReview ? `${label}…` : `${label} with ${lines(unseen)} unread`;
}

function lines(count: number): string {
  return count === 1 ? "1 line" : `${count} lines`;
}

function Sign({ isSending, Icon }: { isSending: boolean; Icon: typeof Check }) {
  return isSending ? (
    <LoaderCircle size={15} className="spin" aria-hidden="true" />
  ) : (
    <Icon size={15} aria-hidden="true" />
  );
}
