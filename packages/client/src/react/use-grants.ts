import { useCallback, useSyncExternalStore } from "react";
import type { Grant, GrantId } from "../protocol.js";
import { Followed } from "../server/followed.js";
import type { ClientOrOptions } from "../server/holdpoint.js";
import type { HoldpointError } from "../server/holdpoint-error.js";
import { perServer } from "../server/per-server.js";
import { useClient } from "./use-client.js";

/** The user's grants. */
export type UseGrantsHelpers = {
  /** Those that this user made, or that cover their chats; `undefined` until the first list arrives. */
  grants: Grant[] | undefined;
  /** Why the last attempt to read the list failed, until one succeeds. */
  error: HoldpointError | undefined;
  /** Revokes one: nothing runs on it once this has resolved. Rejects if the server refuses. */
  revoke: (id: GrantId) => Promise<void>;
  /** Reads the list again now. */
  refresh: () => void;
};

// A grant is made with a decision, and that is an event. A use is not: it is counted when the list is read again.
const grantsOf = perServer(
  (options) =>
    new Followed(
      options,
      (client, signal) => client.grants.list({ signal }),
      ({ type }) => type === "approvals",
    ),
);

/** What runs without a question, and the way to end that. All components of a page share one list for a server and key. */
export function useGrants(options: ClientOrOptions = {}): UseGrantsHelpers {
  const client = useClient(options);
  const grants = grantsOf(client.options);
  const { value, error } = useSyncExternalStore(grants.subscribe, grants.getState, grants.getState);
  const revoke = useCallback(
    async (id: GrantId) => {
      try {
        await client.grants.revoke(id);
      } finally {
        grants.refresh();
      }
    },
    [client, grants],
  );
  return { grants: value, error, revoke, refresh: grants.refresh };
}
