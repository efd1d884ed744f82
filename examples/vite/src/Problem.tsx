import type { UseHoldpointHelpers } from "holdpoint/react";
import type { AgentMessage } from "./agent";

/** Why the last request, turn or stop failed. */
export function Problem({ chat }: { chat: UseHoldpointHelpers<AgentMessage> }) {
  const { error, retry, stopping, stop } = chat;
  if (error) {
    return (
      <p className="problem" role="alert">
        {error.message}
        <button type="button" onClick={() => retry()}>
          Try again
        </button>
      </p>
    );
  }
  if (stopping?.state === "failed") {
    return (
      <p className="problem" role="alert">
        The turn may still be running: {stopping.error.message}
        <button type="button" onClick={() => stop()}>
          Stop again
        </button>
      </p>
    );
  }
  return null;
}
