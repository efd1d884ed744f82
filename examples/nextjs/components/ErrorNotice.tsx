import type { Failure } from "@/lib/failure";

/** What failed, and how to go on: try it again, or show what the server has. */
export function ErrorNotice(props: { chatId: string; failure: Failure; onRetry: () => unknown }) {
  const { chatId, failure, onRetry } = props;
  return (
    <div className="notice" role="alert">
      <p>{failure.message}</p>
      <button type="button" className="primary" onClick={onRetry}>
        Try again
      </button>
      {failure.kind !== "lost" && (
        <a className="button" href={`/chat/${encodeURIComponent(chatId)}`}>
          Reload the chat
        </a>
      )}
    </div>
  );
}
