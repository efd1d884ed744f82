import { ComposerPrimitive } from "@assistant-ui/react";
import { useAgentChat } from "./AgentChat";

export function Composer() {
  const { status, pendingApprovals, stop, stopping } = useAgentChat();
  const isResponding = status === "submitted" || status === "streaming";
  return (
    <ComposerPrimitive.Root className="composer">
      <ComposerPrimitive.Input placeholder="send 50 dollars to Hanako" aria-label="Message" />
      <ComposerPrimitive.Send className="primary">Send</ComposerPrimitive.Send>
      {/* Not `ComposerPrimitive.Cancel`: a turn that waits for a decision can be stopped too. */}
      {(isResponding || pendingApprovals.length > 0) && (
        <button type="button" disabled={stopping?.state === "sending"} onClick={() => stop()}>
          Stop
        </button>
      )}
    </ComposerPrimitive.Root>
  );
}
