import { Check, LoaderCircle, X } from "lucide-react";
import { type MouseEvent, type ReactNode, useLayoutEffect, useRef, useState } from "react";
import { DenyForm } from "./DenyForm";
import { guardDecisions, useArmed } from "./guard";

export type Decide = (approved: boolean, reason?: string) => void;

interface Props {
  /** The subject of the decision, for screen readers. */
  subject: string;
  /** The decision that is being sent. */
  sending: "approve" | "deny" | undefined;
  /** How many lines of the input have not been in view. */
  unseen: number;
  onDecide: Decide;
  /** Shows the whole input; omitted where it is already shown. */
  onReview?: (() => void) | undefined;
  /** Moves the focus when the buttons disappear. */
  onGone?: () => void;
  /** Rendered next to the buttons. */
  children?: ReactNode;
}

/**
 * Approve, or deny with a reason. Rendered while the approval request is open, and inert while the decision is being
 * sent.
 */
export function ApprovalActions({ subject, sending, unseen, onDecide, onReview, onGone, children }: Props) {
  const [isDenying, setIsDenying] = useState(false);
  const row = useRef<HTMLDivElement>(null);
  const { isArmed, accepts } = useArmed(row);
  const isOpen = isArmed && sending === undefined;
  const gone = useRef(onGone);
  gone.current = onGone;

  useLayoutEffect(() => {
    const element = row.current;
    return () => {
      if (element?.contains(document.activeElement)) gone.current?.();
    };
  }, []);

  const decide = (approved: boolean, reason?: string) => {
    guardDecisions();
    setIsDenying(false);
    onDecide(approved, reason);
  };
  const approve = (event: MouseEvent) => {
    if (sending !== undefined || !accepts(event)) return;
    if (unseen > 0 && onReview !== undefined) onReview();
    else decide(true);
  };
  return (
    <div className="approval" ref={row}>
      {isDenying && sending === undefined ? (
        <DenyForm subject={subject} onDeny={(reason) => decide(false, reason)} onCancel={() => setIsDenying(false)} />
      ) : (
        <div className="approval__row">
          <button
            type="button"
            className={unseen > 0 && onReview === undefined ? "button" : "button button--ok"}
            aria-label={`Approve: ${subject}${unseen > 0 && onReview ? `. Shows ${lines(unseen)} not seen yet first` : ""}`}
            aria-disabled={!isOpen}
            onClick={approve}
          >
            <Sign isSending={sending === "approve"} Icon={Check} />
            {approveText(unseen, onReview !== undefined)}
          </button>
          <button
            type="button"
            className="button button--bad"
            aria-label={`Deny: ${subject}`}
            aria-disabled={!isOpen}
            onClick={(event) => {
              if (sending === undefined && accepts(event)) setIsDenying(true);
            }}
          >
            <Sign isSending={sending === "deny"} Icon={X} />
            Deny
          </button>
          {children}
        </div>
      )}
    </div>
  );
}

function approveText(unseen: number, opensReview: boolean): string {
  if (unseen === 0) return "Approve";
  return opensReview ? "Approve…" : `Approve with ${lines(unseen)} unread`;
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
