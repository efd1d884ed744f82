import { useCallback, useMemo, useSyncExternalStore } from "react";
import type { ApprovalId, PendingApproval } from "../protocol.js";
import { type ApprovalDecision, asShown } from "../server/approval-decision.js";
import { ApprovalsFeed } from "../server/approvals-feed.js";
import type { ApprovalsFilter } from "../server/approvals-filter.js";
import type { DecisionProgress, SettledDecision } from "../server/decisions.js";
import type { ClientOrOptions } from "../server/holdpoint.js";
import type { HoldpointError } from "../server/holdpoint-error.js";
import { reachabilityOf } from "../server/reachability.js";
import { useClient } from "./use-client.js";

/** Options of {@link useApprovals}. */
export type UseApprovalsOptions = ClientOrOptions & {
  /** Which approval requests. Default: all. */
  filter?: ApprovalsFilter | undefined;
  /** How many are loaded at first and with every `loadMore`, up to 1,000. Default: 100. */
  pageSize?: number | undefined;
};

/** The inbox, live. */
export type UseApprovalsHelpers = {
  /** The open approval requests that are loaded, oldest first; `undefined` until the first ones arrive. */
  approvals: PendingApproval[] | undefined;
  /** Whether there may be more than `approvals`. */
  hasMore: boolean;
  /** Loads the next ones. Does nothing while some are being loaded, or if there are none. */
  loadMore: () => void;
  isLoadingMore: boolean;
  /**
   * Decides one request: approves, denies, approves another input, or answers in the tool's place, as far as its
   * `allowed` says so. Resolves once the decision is in force, counted or refused, and never rejects.
   */
  decide: (approvalId: ApprovalId, decision: ApprovalDecision) => Promise<SettledDecision>;
  /** This page's decisions by approval request, from the inbox and from chats. */
  decisions: Readonly<Record<ApprovalId, DecisionProgress>>;
  /** The last error, until something is read again. */
  error: HoldpointError | undefined;
  /** Whether the server responds and changes are being received. */
  isConnected: boolean;
  /** When the list may have become outdated; `undefined` while it is current, and before the first list. */
  staleSince: Date | undefined;
};

/**
 * The approval requests that this user can decide, across chats, live. What is loaded stays loaded while requests come
 * and go.
 */
export function useApprovals(options: UseApprovalsOptions = {}): UseApprovalsHelpers {
  const client = useClient(options);
  const { pageSize = 100, filter = {} } = options;
  const { tool, chat, requestedBy, q } = filter;
  const reachability = useMemo(() => reachabilityOf(client.options), [client]);
  const feed = useMemo(
    () => new ApprovalsFeed(client.options, { tool, chat, requestedBy, q }, pageSize),
    [client, tool, chat, requestedBy, q, pageSize],
  );
  const { subscribe, getDecisions } = client.approvals;
  const decisions = useSyncExternalStore(subscribe, getDecisions, getDecisions);
  const { state, since } = useSyncExternalStore(reachability.subscribe, reachability.getStatus, reachability.getStatus);
  const known = useSyncExternalStore(feed.subscribe, feed.getState, feed.getState);

  const decide = useCallback(
    async (approvalId: ApprovalId, decision: ApprovalDecision) => {
      const shown = feed.getState().approvals?.find((approval) => approval.approvalId === approvalId);
      const settled = await client.approvals.decide(approvalId, asShown(shown, decision));
      // The event will remove it too; until then the caller must not see the request again.
      if (settled.state === "in-force") feed.remove(approvalId);
      if (settled.state === "voted") feed.refresh(approvalId);
      return settled;
    },
    [client, feed],
  );
  const { approvals, hasMore, isLoadingMore, error, isFollowing, lostAt } = known;
  const isConnected = isFollowing && state === "connected";
  const unreachableSince = state === "unreachable" ? since : undefined;
  const staleSince = approvals === undefined ? undefined : earlier(lostAt, unreachableSince);
  return {
    approvals,
    hasMore,
    loadMore: feed.loadMore,
    isLoadingMore,
    decide,
    decisions,
    error,
    isConnected,
    staleSince,
  };
}

/** The earlier of two times. Either may become known first, and what is shown must not move. */
function earlier(one: Date | undefined, other: Date | undefined): Date | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return other < one ? other : one;
}
