import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import type { ApprovalId, PendingApproval } from "../protocol.js";
import type { ApprovalDecision } from "../server/approval-decision.js";
import { Decider, type DecisionProgress, type SettledDecision } from "../server/decider.js";
import { fetchApproval } from "../server/fetch-approval.js";
import { followRecord } from "../server/follow-record.js";
import type { HoldpointError } from "../server/holdpoint-error.js";
import type { ServerOptions } from "../server/server-options.js";
import { useServerOptions } from "./use-server-options.js";

/** One approval request, live. */
export type UseApprovalHelpers = {
  /** As it was when it was last open; `undefined` until it is read, and if it never was. */
  approval: PendingApproval | undefined;
  /** Whether it can still be decided; `undefined` until that is known. */
  isOpen: boolean | undefined;
  /**
   * Why it is not shown: status 410 if it has ended, with the reason, and 404 if there is none that this user may see.
   * Anything else is tried again.
   */
  error: HoldpointError | undefined;
  /** Decides it. Resolves once the decision is in force, counted or refused, and never rejects. */
  decide: (decision: ApprovalDecision) => Promise<SettledDecision>;
  /** This page's decision on it. */
  progress: DecisionProgress | undefined;
};

type Known = { of: unknown; approval?: PendingApproval; isOpen?: boolean; error?: HoldpointError };

/** One approval request by its id, for a page of its own: it need not be in any list. */
export function useApproval(approvalId: ApprovalId, options: ServerOptions = {}): UseApprovalHelpers {
  const server = useServerOptions(options);
  const decider = useMemo(() => new Decider(server), [server]);
  const decisions = useSyncExternalStore(decider.subscribe, decider.getDecisions, decider.getDecisions);
  const [known, setKnown] = useState<Known>({ of: undefined });
  const progress = decisions[approvalId];
  const isAnswered = progress?.state === "in-force" || progress?.state === "voted" || progress?.state === "refused";

  // biome-ignore lint/correctness/useExhaustiveDependencies: an answer to a decision reads it again
  useEffect(() => {
    const of = `${approvalId}`;
    let chatId: string | undefined;
    const set = (change: Omit<Known, "of">) =>
      setKnown((before) => ({ ...(before.of === of ? before : {}), of, ...change }));
    const following = followRecord<PendingApproval>(server, {
      read: (signal) => fetchApproval(approvalId, { ...server, signal }),
      // Before it is read, any request may be this one.
      isTouchedBy: (event) => event.type === "approvals" && (chatId === undefined || event.chatId === chatId),
      onValue: (approval) => {
        chatId = approval.chatId;
        setKnown({ of, approval, isOpen: true });
      },
      onError: (error) => {
        if (error.status === 404 || error.status === 410) set({ error, isOpen: false });
        else set({ error });
      },
    });
    following.refresh();
    return following.stop;
  }, [approvalId, server, isAnswered]);

  const current = known.of === approvalId ? known : undefined;
  return {
    approval: current?.approval,
    isOpen: current?.isOpen,
    error: current?.error,
    decide: (decision) => decider.decide(approvalId, decision),
    progress,
  };
}
