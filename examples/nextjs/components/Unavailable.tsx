/** Shown in place of a chat whose history cannot be read. */
export function Unavailable({ chatId, reason }: { chatId: string; reason: string }) {
  return (
    <main>
      <div className="notice" role="alert">
        <p>The chat cannot be loaded. {reason}</p>
        <a className="button" href={`/chat/${encodeURIComponent(chatId)}`}>
          Try again
        </a>
      </div>
    </main>
  );
}
