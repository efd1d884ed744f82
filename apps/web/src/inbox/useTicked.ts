import type { DecisionProgress } from "holdpoint";
import type { PendingApproval } from "holdpoint/protocol";
import { useCallback, useMemo, useState } from "react";

/**
 * The requests that are ticked, as they were last listed. One that ends elsewhere stays ticked: a key that is meant for
 * the selection must not find it gone, and decide something else. What was decided here does not.
 */
export function useTicked(entries: readonly PendingApproval[], decisions: Readonly<Record<string, DecisionProgress>>) {
  const [ticked, setTicked] = useState<ReadonlyMap<string, PendingApproval>>(new Map());
  const listed = useMemo(() => new Map(entries.map((entry) => [entry.approvalId, entry])), [entries]);
  const isDone = (approvalId: string) => !listed.has(approvalId) && decisions[approvalId]?.state === "in-force";
  if ([...ticked.keys()].some(isDone)) setTicked(new Map([...ticked].filter(([approvalId]) => !isDone(approvalId))));

  const tick = useCallback(
    (approvalId: string) =>
      setTicked((before) => {
        const after = new Map(before);
        const entry = listed.get(approvalId);
        if (!after.delete(approvalId) && entry !== undefined) after.set(approvalId, entry);
        return after;
      }),
    [listed],
  );
  const clearTicked = useCallback(() => setTicked(new Map()), []);
  return { ticked, tick, clearTicked };
}
