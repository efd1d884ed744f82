import type { Cause, DecisionKind } from "holdpoint/protocol";

/** User-facing text for each cause of an outcome. A call that ran needs none. */
export const CAUSE_TEXTS: Record<Cause, string | undefined> = {
  ran: undefined,
  result: undefined,
  decision: undefined,
  expired: "Nobody answered in time.",
  stopped: "The turn was stopped.",
  superseded: "A newer message took its place.",
  interrupted: "This was cut off, or got no usable answer. Whether it was carried out is not known.",
  refused: "The server did not run it.",
};

/** What a person sent. */
export const SENT_TEXTS: Record<DecisionKind, string> = {
  approve: "approval",
  deny: "denial",
  edit: "changed input",
  answer: "answer",
  // Not a decision by itself: what is remembered is an approval.
  remember: "approval",
};

/** What a refused decision means, and what to do. */
export function refusalText(kind: DecisionKind, status: number | undefined): string {
  const yours = `Your ${SENT_TEXTS[kind]}`;
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

/** `18:03:52`, with the date if it is not today. */
export function timeText(iso: string, now: Date): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return iso;
  const isToday = time.toDateString() === now.toDateString();
  const clock = time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  return isToday ? clock : `${time.toLocaleDateString([], { dateStyle: "medium" })}, ${clock}`;
}
