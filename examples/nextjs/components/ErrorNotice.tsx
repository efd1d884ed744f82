/** What failed, and how to go on: try it again, or read what the server has. */
export function ErrorNotice({ chatId, error, onRetry }: { chatId: string; error: Error; onRetry: () => unknown }) {
  return (
    <div className="notice" role="alert">
      <p>{error.message}</p>
      <button type="button" className="primary" onClick={onRetry}>
        Try again
      </button>
      <a className="button" href={`/chat/${encodeURIComponent(chatId)}`}>
        Reload the chat
      </a>
    </div>
  );
}
