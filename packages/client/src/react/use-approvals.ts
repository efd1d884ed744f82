import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import type { ApprovalId, DecisionRequest, PendingApproval } from "../protocol.js";
import { ApprovalsClient } from "../server/approvals-client.js";
import { Decider, type DecisionProgress, type SettledDecision } from "../server/decider.js";
import type { HoldpointError } from "../server/holdpoint-error.js";
import { reachabilityOf } from "../server/reachability.js";
import type { ServerOptions } from "../server/server-options.js";
import { useServerOptions } from "./use-server-options.js";

/** The inbox, live. */
export type UseApprovalsHelpers = {
  /** The open approval requests, oldest first; `undefined` until the first list arrives. */
  approvals: PendingApproval[] | undefined;
  /** Decides one request. Resolves once the decision is in force or refused, and never rejects. */
  decide: (approvalId: ApprovalId, decision: DecisionRequest) => Promise<SettledDecision>;
  /** This page's decisions by approval request, from the inbox and from chats. */
  decisions: Readonly<Record<ApprovalId, DecisionProgress>>;
  /** The last error, until the next list arrives. */
  error: HoldpointError | undefined;
  /** Whether the server responds and changes are being received. */
  isConnected: boolean;
  /** When the list may have become outdated; `undefined` while it is current, and before the first list. */
  staleSince: Date | undefined;
};

/** All approval requests that this user can decide, across chats, live. */
export function useApprovals(options: ServerOptions = {}): UseApprovalsHelpers {
  const server = useServerOptions(options);
  const { client, decider, reachability } = useMemo(() => {
    return { client: new ApprovalsClient(server), decider: new Decider(server), reachability: reachabilityOf(server) };
  }, [server]);
  const decisions = useSyncExternalStore(decider.subscribe, decider.getDecisions, decider.getDecisions);
  const { state, since } = useSyncExternalStore(reachability.subscribe, reachability.getStatus, reachability.getStatus);
  const [approvals, setApprovals] = useState<PendingApproval[]>();
  const [error, setError] = useState<HoldpointError>();
  const [isFollowing, setIsFollowing] = useState(false);
  const [lostAt, setLostAt] = useState<Date>();

  useEffect(() => {
    const lost = () => setLostAt((before) => before ?? new Date());
    const stop = client.watch({
      onChange: (list) => {
        setApprovals(list);
        setError(undefined);
        setLostAt(undefined);
      },
      onConnection: (isConnected) => {
        setIsFollowing(isConnected);
        if (!isConnected) lost();
      },
      onError: (failure) => {
        setError(failure);
        lost();
      },
    });
    return () => {
      stop();
      setApprovals(undefined);
      setIsFollowing(false);
      setLostAt(undefined);
    };
  }, [client]);

  const decide = useCallback(
    async (approvalId: ApprovalId, decision: DecisionRequest) => {
      const settled = await decider.decide(approvalId, decision);
      // The event will remove it too; until then the caller must not see the request again.
      if (settled.state === "in-force") setApprovals((list) => list?.filter((open) => open.approvalId !== approvalId));
      return settled;
    },
    [decider],
  );
  const isConnected = isFollowing && state === "connected";
  const staleSince = approvals === undefined ? undefined : (lostAt ?? (state === "unreachable" ? since : undefined));
  return { approvals, decide, decisions, error, isConnected, staleSince };
}
