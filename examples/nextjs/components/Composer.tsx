import { type FormEvent, useState } from "react";

type Props = {
  isBusy: boolean;
  isDisabled: boolean;
  onSend: (text: string) => unknown;
  onStop: () => void;
};

/** The field for the next message, with the button that stops a running turn. */
export function Composer({ isBusy, isDisabled, onSend, onStop }: Props) {
  const [text, setText] = useState("");

  function send(event: FormEvent): void {
    event.preventDefault();
    if (isBusy || text.trim() === "") return;
    onSend(text);
    setText("");
  }

  return (
    <form className="composer" onSubmit={send}>
      <input
        value={text}
        onChange={(event) => setText(event.target.value)}
        placeholder="Write a message"
        aria-label="Message"
        disabled={isDisabled}
      />
      {isBusy ? (
        <button type="button" onClick={onStop}>
          Stop
        </button>
      ) : (
        <button type="submit" className="primary" disabled={isDisabled || text.trim() === ""}>
          Send
        </button>
      )}
    </form>
  );
}
