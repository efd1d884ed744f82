import { CircleAlert } from "lucide-react";
import { Untrusted } from "../text/Untrusted";

interface Props {
  error: Error;
  onRetry: () => void;
  onDismiss: () => void;
}

export function ChatError({ error, onRetry, onDismiss }: Props) {
  return (
    <div className="chat-error" role="alert">
      <CircleAlert size={17} aria-hidden="true" />
      <p>
        <Untrusted text={error.message || "Something went wrong."} reading="prose" />
      </p>
      <div className="chat-error__row">
        <button type="button" className="button" onClick={onRetry}>
          Ask again
        </button>
        <button type="button" className="button" onClick={onDismiss}>
          Dismiss
        </button>
      </div>
    </div>
  );
}
