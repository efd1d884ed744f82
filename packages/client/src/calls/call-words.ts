import type { DecisionKind } from "../protocol.js";
import type { CallOutcome, CallState, CallTrouble } from "./call-status.js";

/** A call's status in words. */
export type CallWords = {
  /** A few words, for a badge. */
  label: string;
  /** One or two sentences: what is going on, or what went wrong. It may quote the tool's or the server's error. */
  text: string;
  /** For a colour or an icon. `hold`: it waits for a person. */
  tone: "quiet" | "busy" | "hold" | "ok" | "bad";
};

/** What a person sent. */
const SENT: Record<DecisionKind, string> = {
  approve: "approval",
  deny: "denial",
  edit: "changed input",
  answer: "answer",
};

/** How a call ended is more than what became of something that this page sent about it. */
export function wordsFor(state: CallState, trouble: CallTrouble | undefined): CallWords {
  const words = wordsForState(state);
  return trouble === undefined || state.kind === "settled" ? words : { ...words, text: trouble.text };
}

function wordsForState(state: CallState): CallWords {
  switch (state.kind) {
    case "preparing":
      return { label: "Preparing", text: "The call is being prepared.", tone: "busy" };
    case "approval-requested":
      return { ...waiting(state), tone: "hold" };
    case "prompted":
      return { label: "Waiting for you", text: "The tool waits for an answer.", tone: "hold" };
    case "sending":
      return { label: "Sending", text: `Your ${SENT[state.sent]} is being sent.`, tone: "busy" };
    case "retrying":
      return { label: "Not confirmed", text: unconfirmedText(state.sent), tone: "bad" };
    case "running":
      return state.where === "browser"
        ? { label: "In the browser", text: "It runs in a browser that has the chat open.", tone: "busy" }
        : { label: "Running", text: "It runs on the server.", tone: "busy" };
    case "ending":
      return { label: "Finishing", text: "It has ended. The server's record says how in a moment.", tone: "busy" };
    case "settled": {
      const { label, text, tone } = SETTLED[state.outcome];
      return { label, text: ownText(state) ?? text, tone };
    }
  }
}

function waiting(state: CallState & { kind: "approval-requested" }): { label: string; text: string } {
  const { hasVoted, mayDecide, votes } = state;
  const label = hasVoted ? "Waiting for others" : mayDecide ? "Waiting for you" : "Waiting for approval";
  if (votes !== undefined && (hasVoted || votes.by.length > 0)) {
    const count = `${Math.max(votes.by.length, hasVoted ? 1 : 0)} of ${votes.quorum} have approved`;
    return { label, text: votes.by.length === 0 ? `${count}.` : `${count}: ${votes.by.join(", ")}.` };
  }
  if (hasVoted) return { label, text: "Your approval counts. Others have to approve as well." };
  return { label, text: mayDecide ? "It waits for a decision." : "It waits for an approver." };
}

const SETTLED: Record<CallOutcome, CallWords> = {
  done: { label: "Done", text: "It was carried out.", tone: "ok" },
  "not-done": { label: "Not done", text: "The tool says that it was not done.", tone: "bad" },
  failed: { label: "Failed", text: "It failed.", tone: "bad" },
  approved: { label: "Approved", text: "It was approved.", tone: "ok" },
  answered: { label: "Answered", text: "A person answered in the tool's place. The tool did not run.", tone: "ok" },
  denied: { label: "Denied", text: "It was denied, and did not run.", tone: "bad" },
  expired: { label: "Expired", text: "Nobody answered in time.", tone: "bad" },
  stopped: { label: "Stopped", text: "The turn was stopped.", tone: "quiet" },
  superseded: { label: "Withdrawn", text: "A newer message took its place.", tone: "quiet" },
  interrupted: {
    label: "Outcome unknown",
    text: "This was cut off, or got no usable answer. Whether it was carried out is not known.",
    tone: "bad",
  },
  "not-run": { label: "Not run", text: "The server did not run it.", tone: "bad" },
};

/** What is known better than by the outcome alone. */
function ownText({ outcome, cause, decision, result }: CallState & { kind: "settled" }): string | undefined {
  if (outcome === "not-run" && cause === undefined) return "It did not run.";
  if (outcome === "denied" && decision !== undefined) {
    const why = decision.reason ? `: ${decision.reason.replace(/[\s.]+$/, "")}` : "";
    return `Denied by ${decision.by.join(" and ")}${why}. It did not run.`;
  }
  if (outcome === "failed" && result.kind === "error") return result.text || undefined;
  if (result.kind !== "output") return undefined;
  // The acknowledgement of a browser.
  const { errorText } = (result.output ?? {}) as { errorText?: unknown };
  if (outcome === "failed" && typeof errorText === "string" && errorText !== "") return errorText;
  return outcome === "expired" ? "No browser answered in time." : undefined;
}

/** That a decision got no response so far. */
export function unconfirmedText(sent: DecisionKind): string {
  return (
    `The server does not respond, so it is not known whether your ${SENT[sent]} has arrived. It is sent again until ` +
    "the server confirms it; keep this page open."
  );
}

/** What a refused decision means, and what to do. */
export function refusalText(kind: DecisionKind, status: number | undefined): string {
  const yours = `Your ${SENT[kind]}`;
  switch (status) {
    case 409:
      return `${yours} was not accepted: another decision was made first and is in force.`;
    case 410:
      return `${yours} came too late: the approval request is already closed.`;
    case 404:
      return `${yours} was not accepted: the server no longer has this approval request.`;
    case 401:
      return `${yours} was not accepted: the server wants a valid API key. Enter it, then decide again.`;
    case 403:
      return `${yours} was not accepted: you may not decide this, or not in this way.`;
    case 422:
      return `${yours} was not accepted: it does not fit. The request is still open.`;
    default:
      return `${yours} was not accepted. Decide again.`;
  }
}
