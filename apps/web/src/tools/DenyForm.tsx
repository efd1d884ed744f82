import { useId, useRef, useState } from "react";
import { useArmed } from "./guard";

interface Props {
  subject: string;
  /** Whether the assistant gets the reason. It is recorded in any case. */
  isTold: boolean;
  /** The request has ended: what is written stays, and can't be sent. */
  isEnded?: boolean;
  onDeny: (reason: string | undefined) => void;
  onCancel: () => void;
}

/** Asks for the reason of a denial. */
export function DenyForm({ subject, isTold, isEnded = false, onDeny, onCancel }: Props) {
  const [reason, setReason] = useState("");
  const row = useRef<HTMLDivElement>(null);
  const { isArmed, accepts } = useArmed(row);
  const field = useId();
  const deny = (event: { detail: number }) => {
    if (!isEnded && accepts(event)) onDeny(reason.trim() || undefined);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        // Submitted by Enter in the field. The button has its own handler, which checks clicks.
        deny({ detail: 0 });
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        // Closes only the form, not the dialog around it.
        event.stopPropagation();
        onCancel();
      }}
    >
      <label className="approval__label" htmlFor={field}>
        {whyNot(isTold)} <span className="approval__optional">Optional</span>
      </label>
      <div className="approval__row" ref={row}>
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
        <button
          type="button"
          className="button button--bad"
          aria-disabled={!isArmed || isEnded}
          aria-description={subject}
          onClick={deny}
        >
          Deny
        </button>
        <button type="button" className="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}

/** The label of the field for the reason of a denial. */
export function whyNot(isTold: boolean): string {
  return isTold ? "Why not? The assistant will be told." : "Why not? It is recorded.";
}
