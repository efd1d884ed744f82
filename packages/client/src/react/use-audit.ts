import { useCallback, useEffect, useReducer, useRef, useState } from "react";
import type { AuditLine } from "../protocol.js";
import { type AuditFilter, auditPath, readAuditPage } from "../server/audit.js";
import type { ClientOrOptions } from "../server/holdpoint.js";
import { asHoldpointError, type HoldpointError, requestFailure } from "../server/holdpoint-error.js";
import { retryUntilResponse } from "../server/retry-until-response.js";
import { Server } from "../server/server.js";
import { useClient } from "./use-client.js";

/** Options of {@link useAudit}. */
export type UseAuditOptions = ClientOrOptions & {
  /** Which lines. Default: all that this user may see. */
  filter?: AuditFilter | undefined;
  /** How many lines are loaded at first and with every `loadMore`, up to 1,000. Default: 100. */
  pageSize?: number | undefined;
};

/** The record, page by page. */
export type UseAuditHelpers = {
  /** What is loaded, oldest first; `undefined` until the first page arrives. */
  lines: AuditLine[] | undefined;
  /** Whether there may be more. */
  hasMore: boolean;
  /** Loads the next page. Does nothing while one is being loaded. */
  loadMore: () => void;
  isLoading: boolean;
  /** Why the last page could not be read. */
  error: HoldpointError | undefined;
  /** Reads again from the beginning. */
  refresh: () => void;
};

type Loaded = { lines: AuditLine[] | undefined; next: string | undefined };

/** The record of all calls, or of those that a filter names. It is read when it is asked for, and not followed. */
export function useAudit(options: UseAuditOptions = {}): UseAuditHelpers {
  const client = useClient(options);
  const { pageSize = 100, filter = {} } = options;
  const first = auditPath(filter, Math.min(1_000, Math.max(1, pageSize)));
  const [{ lines, next }, setLoaded] = useState<Loaded>({ lines: undefined, next: undefined });
  const [error, setError] = useState<HoldpointError>();
  const [isLoading, setIsLoading] = useState(true);
  const [round, refresh] = useReducer((before: number) => before + 1, 0);
  const reading = useRef<AbortController>(undefined);

  const read = useCallback(
    async (path: string, before: readonly AuditLine[]) => {
      reading.current?.abort();
      const abort = new AbortController();
      reading.current = abort;
      const { signal } = abort;
      setIsLoading(true);
      try {
        const requests = new Server(client.options);
        const page = await retryUntilResponse(requests, (limited) => readAuditPage(requests, path, limited), {
          signal,
          onRetry: (failure) => signal.aborted || setError(failure),
        });
        if (signal.aborted) return;
        setLoaded({ lines: [...before, ...page.entries], next: page.next });
        setError(undefined);
      } catch (failure) {
        if (!signal.aborted) setError(asHoldpointError(requestFailure(failure), "unreachable"));
      }
      if (!signal.aborted) setIsLoading(false);
    },
    [client],
  );

  // biome-ignore lint/correctness/useExhaustiveDependencies: a refresh reads again from the beginning
  useEffect(() => {
    void read(first, []);
    return () => {
      reading.current?.abort();
      setLoaded({ lines: undefined, next: undefined });
      setError(undefined);
    };
  }, [read, first, round]);

  const loadMore = () => {
    if (next !== undefined && !isLoading) void read(next, lines ?? []);
  };
  return { lines, hasMore: next !== undefined, loadMore, isLoading, error, refresh };
}
