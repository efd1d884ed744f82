import { ArrowUp, Square } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { readDraft, writeDraft } from "./drafts";

interface Props {
  /** The chat of the draft; `undefined` for a new chat. */
  draftOf: string | undefined;
  /** A turn is running or held, so it can be stopped. */
  canStop: boolean;
  /** The progress of a stop. */
  stopNote: string | undefined;
  /** The last turn is held: a new message would withdraw its approval request. */
  isHeld: boolean;
  /** Sending is possible only once the history is loaded. */
  isReady: boolean;
  /** The text stays in the field until the promise resolves, if there is one. If it rejects, the text was not taken. */
  onSend: (text: string) => Promise<void> | undefined | void;
  stop: () => void;
}

export function Composer({ draftOf, canStop, stopNote, isHeld, isReady, onSend, stop }: Props) {
  const [text, setText] = useState(() => readDraft(draftOf));
  const field = useRef<HTMLTextAreaElement>(null);
  const [isTaking, setIsTaking] = useState(false);
  const canSend = isReady && !isTaking && text.trim() !== "";

  useEffect(() => {
    // On a phone the keyboard would cover the content.
    if (window.matchMedia("(hover: hover)").matches) field.current?.focus();
  }, []);

  const write = (next: string) => {
    setText(next);
    writeDraft(draftOf, next);
  };
  const send = () => {
    if (!canSend) return;
    const taking = onSend(text.trim());
    if (!taking) return write("");
    setIsTaking(true);
    taking
      .then(
        () => write(""),
        () => {},
      )
      .finally(() => setIsTaking(false));
  };
  return (
    <form
      className="composer"
      aria-label="Message"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <textarea
        ref={field}
        className="composer__field"
        rows={1}
        aria-label="Message to the assistant"
        placeholder="Ask for something…"
        value={text}
        readOnly={isTaking}
        onChange={(event) => write(event.target.value)}
        onKeyDown={(event) => {
          // During IME composition, Enter picks a word.
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      {canStop && (
        <button type="button" className="composer__stop" aria-label="Stop" title="Stop this turn" onClick={stop}>
          <Square size={14} fill="currentColor" aria-hidden="true" />
        </button>
      )}
      <button type="submit" className="composer__send" aria-label="Send" title="Send" disabled={!canSend}>
        <ArrowUp size={18} aria-hidden="true" />
      </button>
      <p className="composer__hint" role={stopNote ? "status" : undefined}>
        {stopNote ? (
          stopNote
        ) : isHeld ? (
          "An approval request is open. Sending a message withdraws it."
        ) : (
          <>
            <kbd>Enter</kbd> sends, <kbd>Shift</kbd> <kbd>Enter</kbd> makes a new line
          </>
        )}
      </p>
    </form>
  );
}
