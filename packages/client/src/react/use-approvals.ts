import { useCallback, useEffect, useMemo, useState } from "react";
import type { AckResponse, ApprovalId, DecisionRequest, PendingApproval } from "../protocol.js";
import { ApprovalsClient } from "../server/approvals-client.js";
import type { ServerOptions } from "../server/server-options.js";

/** The inbox, live. */
export type UseApprovalsHelpers = {
  /** What waits for a decision, oldest first; `undefined` until the first list is here. */
  approvals: PendingApproval[] | undefined;
  /** Decides one. Throws a `ServerError` where another decision stands (409) or the time is up (410). */
  decide: (approvalId: ApprovalId, decision: DecisionRequest) => Promise<AckResponse>;
  /** The last failure, until the next list comes. */
  error: Error | undefined;
  /** Whether changes are being followed. */
  isConnected: boolean;
};

/** Everything that waits for this user's decision, in whichever chat, as it changes. */
export function useApprovals(options: ServerOptions = {}): UseApprovalsHelpers {
  const { baseUrl, apiKey, headers, fetch, events } = options;
  // Headers are usually written in place: only their content makes another client.
  const headersKey = JSON.stringify(headers ?? {});
  const client = useMemo(
    () =>
      new ApprovalsClient({
        baseUrl,
        apiKey,
        fetch,
        events,
        headers: JSON.parse(headersKey) as Record<string, string>,
      }),
    [baseUrl, apiKey, fetch, events, headersKey],
  );
  const [approvals, setApprovals] = useState<PendingApproval[]>();
  const [error, setError] = useState<Error>();
  const [isConnected, setIsConnected] = useState(false);

  useEffect(() => {
    const stop = client.watch({
      onChange: (list) => {
        setApprovals(list);
        setError(undefined);
      },
      onConnection: setIsConnected,
      onError: setError,
    });
    return () => {
      stop();
      setApprovals(undefined);
      setIsConnected(false);
    };
  }, [client]);

  const decide = useCallback(
    async (approvalId: ApprovalId, decision: DecisionRequest) => {
      const answer = await client.decide(approvalId, decision);
      // The event will say so too; the click should be seen at once.
      setApprovals((list) => list?.filter((approval) => approval.approvalId !== approvalId));
      return answer;
    },
    [client],
  );
  return { approvals, decide, error, isConnected };
}
