import type { DynamicToolUIPart, ToolUIPart } from "ai";
import { type DecisionProgress, settledMetadata } from "holdpoint";
import type { Cause, ChatHold } from "holdpoint/protocol";

/** A call of a tool in a message. */
export type Call = ToolUIPart | DynamicToolUIPart;

/** What there is to say about a call. */
export type CallStatus =
  /** The model is still writing the input. */
  | { kind: "preparing" }
  /** It waits for a decision. `refusal`: why the decision of this page is not in force. */
  | { kind: "waiting"; approvalId: string; hold: ChatHold | undefined; refusal?: string | undefined }
  /** A decision was made on this page. `isAccepted`: the server has it. `problem`: why it is sent again. */
  | { kind: "deciding"; approved: boolean; isAccepted: boolean; problem?: string | undefined }
  /** This user has approved, and others have to as well. */
  | { kind: "voted"; votes: number; quorum: number; expiresAt?: string | undefined }
  | { kind: "running" }
  /** It ran in this browser, and its result did not reach the server. */
  | { kind: "undelivered"; problem: string }
  | { kind: "done"; output: unknown }
  | { kind: "failed"; problem: string }
  | { kind: "denied"; by: string; reason?: string | undefined }
  /** Nobody decided, or no browser answered, in time. */
  | { kind: "expired" }
  | { kind: "stopped" }
  /** A newer message, or another attempt, replaced it. Nobody denied it. */
  | { kind: "superseded" }
  /** The server stopped while the tool ran. Nobody knows whether it was carried out. */
  | { kind: "lost" }
  /** Nothing ran: the input was not valid, the tool is gone, or a limit was reached. */
  | { kind: "refused"; problem: string };

/** What the hook knows about the call, beside the message. */
export type CallContext = {
  /** The server's record of the call. */
  hold: ChatHold | undefined;
  /** The decision that was made on this page. */
  decision: DecisionProgress | undefined;
  /** Why its result did not reach the server. */
  toolError: Error | undefined;
};

export function callStatus(call: Call, { hold, decision, toolError }: CallContext): CallStatus {
  const cause = hold?.outcome?.cause ?? settledMetadata(call)?.cause;
  if (cause) return settled(call, cause, hold);
  switch (call.state) {
    case "input-streaming":
      return { kind: "preparing" };
    case "approval-requested":
      return waiting(call.approval.id, hold, decision);
    case "input-available":
    case "approval-responded":
      return toolError ? { kind: "undelivered", problem: toolError.message } : { kind: "running" };
    // The record follows in a moment, and says more.
    case "output-available":
      return { kind: "done", output: call.output };
    case "output-error":
      return { kind: "failed", problem: call.errorText };
    case "output-denied":
      return { kind: "denied", by: "", reason: call.approval.reason };
  }
}

function waiting(approvalId: string, hold?: ChatHold, decision?: DecisionProgress): CallStatus {
  switch (decision?.state) {
    case "sending":
    case "in-force":
      return { kind: "deciding", approved: decision.approved, isAccepted: decision.state === "in-force" };
    case "retrying":
      return { kind: "deciding", approved: decision.approved, isAccepted: false, problem: decision.error.message };
    case "refused":
      return { kind: "waiting", approvalId, hold, refusal: decision.error.message };
    case "voted": {
      // The record counts the votes that others have given since.
      const votes = Math.max(decision.votes, hold?.votes?.by.length ?? 0);
      return { kind: "voted", votes, quorum: decision.quorum, expiresAt: hold?.expiresAt };
    }
    case undefined:
      return { kind: "waiting", approvalId, hold };
  }
}

function settled(call: Call, cause: Cause, hold?: ChatHold): CallStatus {
  const problem = hold?.outcome?.errorText ?? call.errorText;
  switch (cause) {
    case "ran":
    case "result":
      return problem === undefined
        ? { kind: "done", output: hold?.outcome?.output ?? call.output }
        : { kind: "failed", problem };
    case "decision":
      // Somebody answered in the tool's place: that is its output, and nothing ran.
      if (hold?.decision?.kind === "answer" || call.state === "output-available")
        return { kind: "done", output: hold?.outcome?.output ?? call.output };
      return { kind: "denied", by: hold?.decision?.by.join(", ") ?? "", reason: hold?.decision?.reason };
    case "interrupted":
      return { kind: "lost" };
    case "refused":
      return { kind: "refused", problem: problem ?? "The call was not valid." };
    case "expired":
    case "stopped":
    case "superseded":
      return { kind: cause };
  }
}
