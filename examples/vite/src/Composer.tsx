import type { UseHoldpointHelpers } from "holdpoint/react";
import { useState } from "react";
import type { AgentMessage } from "./agent";

export function Composer({ chat }: { chat: UseHoldpointHelpers<AgentMessage> }) {
  const { sendMessage, status, stop, stopping, pendingApprovals } = chat;
  const [text, setText] = useState("");
  const isResponding = status === "submitted" || status === "streaming";
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() === "" || isResponding) return;
        void sendMessage({ text });
        setText("");
      }}
    >
      <input
        value={text}
        onChange={(event) => setText(event.target.value)}
        placeholder="send 50 dollars to Hanako"
        aria-label="Message"
      />
      <button type="submit" className="primary" disabled={text.trim() === "" || isResponding}>
        Send
      </button>
      {(isResponding || pendingApprovals.length > 0) && (
        <button type="button" disabled={stopping?.state === "sending"} onClick={() => stop()}>
          Stop
        </button>
      )}
    </form>
  );
}
