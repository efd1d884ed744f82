import { type UseApprovalsHelpers, useApprovals } from "holdpoint/react";
import { createContext, type ReactNode, useContext, useEffect } from "react";
import { consoleFetch, useServer } from "../api/server";
import { tapDecisions } from "../inspector/markDecision";
import { useMe } from "../shell/useMe";
import { COUNTED, countText } from "./badge";
import { hasVoted } from "./votes";

type Approvals = Pick<
  UseApprovalsHelpers,
  "approvals" | "hasMore" | "loadMore" | "decide" | "decisions" | "staleSince" | "error"
>;

/** The inbox, with one subscription for the whole page. */
export const ApprovalsContext = createContext<Approvals>({
  approvals: undefined,
  hasMore: false,
  loadMore: () => {},
  decide: () => Promise.reject(new Error("There is no inbox around this.")),
  decisions: {},
  staleSince: undefined,
  error: undefined,
});

/** For everything that decides. */
export const decisionFetch = tapDecisions(consoleFetch);

/** How many requests wait for this user, as a text; `undefined` for none. What they have approved waits for others. */
export function useWaitingCount(): string | undefined {
  const { approvals = [], hasMore } = useContext(ApprovalsContext);
  const me = useMe();
  return countText(approvals.filter((entry) => !hasVoted(entry, me?.subject)).length, hasMore);
}

export function ApprovalsProvider({ children }: { children: ReactNode }) {
  const approvals = useApprovals({ ...useServer(), fetch: decisionFetch, pageSize: COUNTED });
  const isShort = approvals.hasMore && !approvals.isLoadingMore && (approvals.approvals?.length ?? 0) < COUNTED;
  const { loadMore } = approvals;
  useEffect(() => {
    if (isShort) loadMore();
  }, [isShort, loadMore]);
  const isSending = Object.values(approvals.decisions).some(({ state }) => state === "sending" || state === "retrying");

  // Closing the page loses a decision that has not arrived.
  useEffect(() => {
    if (!isSending) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [isSending]);

  return <ApprovalsContext value={approvals}>{children}</ApprovalsContext>;
}
