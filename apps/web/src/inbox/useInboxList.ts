import type { PendingApproval } from "holdpoint/protocol";
import { useCallback, useState } from "react";

/** An approval request that was shown. It keeps its position, whatever its outcome. */
export interface Entry {
  approval: PendingApproval;
  isWaiting: boolean;
}

export interface InboxList {
  entries: readonly Entry[];
  /** Removes the entries that are no longer waiting. */
  clear: () => void;
}

/**
 * The waiting entries, and those that have waited since the inbox was opened. Each keeps its position, so that no card
 * moves to where somebody is about to click.
 */
export function useInboxList(approvals: readonly PendingApproval[] | undefined): InboxList {
  const [entries, setEntries] = useState<readonly Entry[]>([]);
  const merged = merge(entries, approvals);
  // During render, so that no card is ever drawn without its neighbours.
  if (merged !== entries) setEntries(merged);
  const clear = useCallback(() => setEntries((all) => all.filter(({ isWaiting }) => isWaiting)), []);
  return { entries: merged, clear };
}

/** Returns the same list if nothing changed. */
export function merge(entries: readonly Entry[], approvals: readonly PendingApproval[] | undefined): readonly Entry[] {
  if (approvals === undefined) return entries;
  const waiting = new Map(approvals.map((approval) => [approval.approvalId, approval]));
  const known = new Set(entries.map(({ approval }) => approval.approvalId));
  const kept = entries.map((entry) => {
    const now = waiting.get(entry.approval.approvalId);
    const isWaiting = now !== undefined;
    const approval = now !== undefined && isOther(now, entry.approval) ? now : entry.approval;
    return isWaiting === entry.isWaiting && approval === entry.approval ? entry : { approval, isWaiting };
  });
  const added = approvals
    .filter(({ approvalId }) => !known.has(approvalId))
    .map((approval) => ({ approval, isWaiting: true }));
  const isSame = added.length === 0 && kept.every((entry, at) => entry === entries[at]);
  return isSame ? entries : [...kept, ...added];
}

/** Whether an open request has changed. The input of a call stays what it is. */
function isOther(one: PendingApproval, other: PendingApproval): boolean {
  const changing = ({ votes, allowed, expiresAt }: PendingApproval) => JSON.stringify([votes, allowed, expiresAt]);
  return changing(one) !== changing(other);
}
