import { useEffect, useState, useSyncExternalStore } from "react";
import type { ApprovalId, ApprovalRecord, PendingApproval } from "../protocol.js";
import { type ApprovalDecision, asShown } from "../server/approval-decision.js";
import type { DecisionProgress, SettledDecision } from "../server/decisions.js";
import { followRecord } from "../server/follow-record.js";
import type { ClientOrOptions } from "../server/holdpoint.js";
import type { HoldpointError } from "../server/holdpoint-error.js";
import { Server } from "../server/server.js";
import { useClient } from "./use-client.js";

/** One approval request, live, until its call has an outcome. */
export type UseApprovalHelpers = {
  /** The request, also after it has ended; `undefined` until it is read. */
  approval: PendingApproval | undefined;
  /** The request with its decision, what runs and what came of it; `undefined` until it is read. */
  record: ApprovalRecord | undefined;
  /** Whether it can still be decided; `undefined` until that is known. */
  isOpen: boolean | undefined;
  /** Why it is not shown: status 404 if there is none that this user may see. Anything else is tried again. */
  error: HoldpointError | undefined;
  /** Decides it. Resolves once the decision is in force, counted or refused, and never rejects. */
  decide: (decision: ApprovalDecision) => Promise<SettledDecision>;
  /** This page's decision on it. */
  progress: DecisionProgress | undefined;
};

type Known = { of: unknown; record?: ApprovalRecord; isOpen?: boolean; error?: HoldpointError };

/**
 * One approval request by its id, and what has become of it: it need not be in any list. Nothing is read for
 * `undefined`.
 */
export function useApproval(approvalId: ApprovalId | undefined, options: ClientOrOptions = {}): UseApprovalHelpers {
  const client = useClient(options);
  const { subscribe, getDecisions } = client.approvals;
  const decisions = useSyncExternalStore(subscribe, getDecisions, getDecisions);
  const [known, setKnown] = useState<Known>({ of: undefined });
  const progress = approvalId === undefined ? undefined : decisions[approvalId];
  const isAnswered = progress?.state === "in-force" || progress?.state === "voted" || progress?.state === "refused";

  // biome-ignore lint/correctness/useExhaustiveDependencies: an answer to a decision reads it again
  useEffect(() => {
    if (approvalId === undefined) return;
    const of = approvalId;
    let chatId: string | undefined;
    const following = followRecord<ApprovalRecord>(new Server(client.options), {
      read: (signal) => client.approvals.record(approvalId, { signal }),
      // Before it is read, any request may be this one.
      isTouchedBy: (event) => "chatId" in event && (chatId === undefined || event.chatId === chatId),
      onValue: (record) => {
        chatId = record.approval.chatId;
        setKnown({ of, record, isOpen: record.state === "waiting" && record.decision === undefined });
        // Nothing comes after an outcome.
        if (record.state === "settled") following.stop();
      },
      onError: (error) => {
        const isGone = error.status === 404;
        setKnown((before) => ({ ...(before.of === of && before), of, error, ...(isGone && { isOpen: false }) }));
      },
    });
    following.refresh();
    return following.stop;
  }, [approvalId, client, isAnswered]);

  const current = approvalId !== undefined && known.of === approvalId ? known : undefined;
  return {
    approval: current?.record?.approval,
    record: current?.record,
    isOpen: current?.isOpen,
    error: current?.error,
    decide: (decision) =>
      approvalId === undefined
        ? Promise.reject(new TypeError("There is no approval request to decide."))
        : client.approvals.decide(approvalId, asShown(current?.record?.approval, decision)),
    progress,
  };
}
