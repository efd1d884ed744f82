import type { PendingApproval } from "holdpoint/protocol";

/** Whether somebody's approval is counted already. */
export function hasVoted({ votes }: Pick<PendingApproval, "votes">, subject: string | undefined): boolean {
  return subject !== undefined && votes?.by.includes(subject) === true;
}
