import { CircleAlert } from "lucide-react";

interface Props {
  error: Error;
  onRetry: () => void;
  onDismiss: () => void;
}

export function ChatError({ error, onRetry, onDismiss }: Props) {
  return (
    <div className="chat-error" role="alert">
      <CircleAlert size={17} aria-hidden="true" />
      <p>{error.message || "Something went wrong."}</p>
      <div className="chat-error__row">
        <button type="button" className="button" onClick={onRetry}>
          Try again
        </button>
        <button type="button" className="button" onClick={onDismiss}>
          Dismiss
        </button>
      </div>
    </div>
  );
}
