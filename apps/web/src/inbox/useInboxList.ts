import type { PendingApproval } from "holdpoint";
import { useCallback, useState } from "react";

/** A question that was shown: it stays where it is, whatever becomes of it. */
export interface Entry {
  approval: PendingApproval;
  isWaiting: boolean;
}

export interface InboxList {
  entries: readonly Entry[];
  /** Takes away what does not wait any more. */
  clear: () => void;
}

/**
 * What waits, and what has waited since the inbox was opened, each in its place: nothing moves up into the place of a card that
 * somebody is about to click.
 */
export function useInboxList(approvals: readonly PendingApproval[] | undefined): InboxList {
  const [entries, setEntries] = useState<readonly Entry[]>([]);
  const merged = merge(entries, approvals);
  // During rendering, so that no card is ever drawn without its neighbours.
  if (merged !== entries) setEntries(merged);
  const clear = useCallback(() => setEntries((all) => all.filter(({ isWaiting }) => isWaiting)), []);
  return { entries: merged, clear };
}

/** The same list where nothing changed. */
export function merge(entries: readonly Entry[], approvals: readonly PendingApproval[] | undefined): readonly Entry[] {
  if (approvals === undefined) return entries;
  const waiting = new Map(approvals.map((approval) => [approval.approvalId, approval]));
  const known = new Set(entries.map(({ approval }) => approval.approvalId));
  const kept = entries.map((entry) => {
    const isWaiting = waiting.has(entry.approval.approvalId);
    return isWaiting === entry.isWaiting ? entry : { ...entry, isWaiting };
  });
  const added = approvals
    .filter(({ approvalId }) => !known.has(approvalId))
    .map((approval) => ({ approval, isWaiting: true }));
  const isSame = added.length === 0 && kept.every((entry, at) => entry === entries[at]);
  return isSame ? entries : [...kept, ...added];
}
