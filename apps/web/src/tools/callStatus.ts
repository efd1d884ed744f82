import { ackOutcomeOf } from "./ackOutcome";
import type { CallState } from "./callState";

export type Tone = "quiet" | "busy" | "hold" | "ok" | "bad";

/** The label of whatever waits for this user, wherever it is listed. */
export const WAITING = "Waiting for you";

/** The label of what waits for somebody else. */
export const WAITING_FOR_OTHERS = "Waiting for approval";

export interface CallStatus {
  label: string;
  tone: Tone;
}

/** The card's label for the state of its call. Whoever has approved waits for others, and nothing waits for them. */
export function callStatus(state: CallState, hasVoted = false): CallStatus {
  switch (state.kind) {
    case "preparing":
      return { label: "Preparing", tone: "busy" };
    case "approval-requested":
      if (hasVoted) return { label: "Waiting for others", tone: "hold" };
      return state.mayDecide ? { label: WAITING, tone: "hold" } : { label: WAITING_FOR_OTHERS, tone: "hold" };
    case "prompted":
      return { label: WAITING, tone: "hold" };
    case "sending":
      return { label: "Sending", tone: "busy" };
    case "retrying":
      return { label: "Not confirmed", tone: "bad" };
    case "running":
      return { label: state.where === "browser" ? "In the browser" : "Running", tone: "busy" };
    case "ending":
      return { label: "Finishing", tone: "busy" };
    case "gone":
      return { label: state.isForeign ? "Ended" : "Deleted", tone: "quiet" };
    case "settled":
      return settled(state);
  }
}

function settled({ cause, result, decision }: CallState & { kind: "settled" }): CallStatus {
  switch (cause) {
    case "decision":
      if (decision?.kind === "answer") return { label: "Answered", tone: "ok" };
      return decision?.kind === "approve" ? { label: "Approved", tone: "ok" } : { label: "Denied", tone: "bad" };
    case "expired":
      return { label: "Expired", tone: "bad" };
    case "stopped":
      return { label: "Stopped", tone: "quiet" };
    case "superseded":
      return { label: "Withdrawn", tone: "quiet" };
    case "interrupted":
      return { label: "Outcome unknown", tone: "bad" };
    case "refused":
      return { label: "Not run", tone: "bad" };
    case "ran":
    case "result":
    case undefined:
      if (result.kind === "output") return outputStatus(result.output);
      return { label: result.kind === "error" ? "Failed" : "Not run", tone: "bad" };
  }
}

/** Some outputs report a failure as a value. */
function outputStatus(output: unknown): CallStatus {
  const ack = ackOutcomeOf(output);
  if (ack !== undefined) return ack.status;
  if (typeof output === "object" && output !== null && "success" in output && output.success === false)
    return { label: "Not done", tone: "bad" };
  return { label: "Done", tone: "ok" };
}
