import type { PendingApproval } from "holdpoint";
import { Check, X } from "lucide-react";
import { useId, useState } from "react";
import { Countdown } from "./Countdown";

interface Props {
  /** What the buttons decide about, for those who cannot see the card around them. */
  subject: string;
  pending: PendingApproval | undefined;
  onDecide: (approved: boolean, reason?: string) => void;
}

/** Approve, or deny with a reason. Rendered only while the question is open. */
export function ApprovalActions({ subject, pending, onDecide }: Props) {
  const [isDenying, setIsDenying] = useState(false);
  const [reason, setReason] = useState("");
  const field = useId();

  if (isDenying) {
    return (
      <form
        className="approval"
        onSubmit={(event) => {
          event.preventDefault();
          onDecide(false, reason.trim() || undefined);
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape") setIsDenying(false);
        }}
      >
        <label className="approval__label" htmlFor={field}>
          Why not? The assistant will be told. <span className="approval__optional">Optional</span>
        </label>
        <div className="approval__row">
          <input
            id={field}
            className="field"
            // biome-ignore lint/a11y/noAutofocus: the person has just asked for this field
            autoFocus
            value={reason}
            placeholder="Reason"
            maxLength={1000}
            onChange={(event) => setReason(event.target.value)}
          />
          <button type="submit" className="button button--bad">
            Deny
          </button>
          <button type="button" className="button" onClick={() => setIsDenying(false)}>
            Cancel
          </button>
        </div>
      </form>
    );
  }
  return (
    <div className="approval approval__row">
      <button
        type="button"
        className="button button--ok"
        aria-label={`Approve: ${subject}`}
        onClick={() => onDecide(true)}
      >
        <Check size={15} aria-hidden="true" />
        Approve
      </button>
      <button
        type="button"
        className="button button--bad"
        aria-label={`Deny: ${subject}`}
        onClick={() => setIsDenying(true)}
      >
        <X size={15} aria-hidden="true" />
        Deny
      </button>
      {pending?.expiresAt && <Countdown requestedAt={pending.requestedAt} expiresAt={pending.expiresAt} />}
    </div>
  );
}
