import { ShieldAlert } from "lucide-react";
import { useEffect, useRef } from "react";
import { SendButton } from "../edit/SendButton";
import { GrantNote } from "./RememberField";
import type { RememberChoice } from "./remember";

interface Props {
  choice: RememberChoice;
  owner: string;
  /** What is decided, for screen readers. */
  subject: string;
  onSend: () => void;
  onBack: () => void;
}

/** The second step of an approval after which a tool no longer needs approval. */
export function ConfirmGrant({ choice, owner, subject, onSend, onBack }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  // Not a button: the key that led here must not confirm it.
  useEffect(() => heading.current?.focus(), []);
  return (
    <section className="confirm-grant" aria-label="Confirm the grant">
      <h3 ref={heading} tabIndex={-1}>
        Never ask about this tool again?
      </h3>
      <GrantNote choice={choice} owner={owner} />
      <div className="approval__row">
        <SendButton
          label="Approve, and never ask again"
          subject={subject}
          className="button button--bad"
          icon={ShieldAlert}
          isSending={false}
          isOpen
          onSend={onSend}
        />
        <button type="button" className="button" onClick={onBack}>
          Back
        </button>
      </div>
    </section>
  );
}
