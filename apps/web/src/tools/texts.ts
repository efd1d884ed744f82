import { callStatus, HoldpointError } from "holdpoint";
import type { DecisionKind } from "holdpoint/protocol";

/** What a refused decision means, and what to do. */
export function refusalText(kind: DecisionKind, status: number | undefined): string {
  const error = new HoldpointError("http-error", "", { status });
  const decision = { approvalId: "", kind, approved: kind !== "deny", attempts: 1, state: "refused", error } as const;
  return callStatus(undefined, { decision }).text;
}

/** `18:03:52`, with the date if it is not today. */
export function timeText(iso: string, now: Date): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return iso;
  const isToday = time.toDateString() === now.toDateString();
  const clock = time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  return isToday ? clock : `${time.toLocaleDateString([], { dateStyle: "medium" })}, ${clock}`;
}
