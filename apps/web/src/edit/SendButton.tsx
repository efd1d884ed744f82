import { LoaderCircle, type LucideIcon } from "lucide-react";
import { useRef } from "react";
import { guardDecisions, useArmed } from "../tools/guard";

interface Props {
  label: string;
  /** The subject of the decision, for screen readers. */
  subject: string;
  icon: LucideIcon;
  className: string;
  isSending: boolean;
  /** Whether the request is still open. */
  isOpen: boolean;
  onSend: () => void;
}

/** Sends a decision. It is inert while it moves, after another decision, and while the decision is being sent. */
export function SendButton({ label, subject, icon: Icon, className, isSending, isOpen, onSend }: Props) {
  const button = useRef<HTMLButtonElement>(null);
  const { isArmed, accepts } = useArmed(button);
  return (
    <button
      ref={button}
      type="button"
      className={className}
      aria-label={`${label}: ${subject}`}
      aria-disabled={!isArmed || isSending || !isOpen}
      onClick={(event) => {
        if (isSending || !isOpen || !accepts(event)) return;
        guardDecisions();
        onSend();
      }}
    >
      {isSending ? (
        <LoaderCircle size={15} className="spin" aria-hidden="true" />
      ) : (
        <Icon size={15} aria-hidden="true" />
      )}
      {isSending ? "Sending" : label}
    </button>
  );
}
