import { useSyncExternalStore } from "react";
import type { ChatSummary } from "../protocol.js";
import { Followed } from "../server/followed.js";
import type { ClientOrOptions } from "../server/holdpoint.js";
import type { HoldpointError } from "../server/holdpoint-error.js";
import { perServer } from "../server/per-server.js";
import { useClient } from "./use-client.js";

/** The user's chats, live. */
export type UseChatsHelpers = {
  /** Most recently changed first; `undefined` until the first list arrives. */
  chats: ChatSummary[] | undefined;
  /** Why the last attempt to read the list failed, until one succeeds. */
  error: HoldpointError | undefined;
  /** Reads the list again now. */
  refresh: () => void;
};

const chatsOf = perServer(
  (options) =>
    new Followed(
      options,
      (client, signal) => client.chats.list({ signal }),
      () => true,
    ),
);

/** The user's chats, kept current. All components of a page share one list for a server and key. */
export function useChats(options: ClientOrOptions = {}): UseChatsHelpers {
  const chats = chatsOf(useClient(options).options);
  const { value, error } = useSyncExternalStore(chats.subscribe, chats.getState, chats.getState);
  return { chats: value, error, refresh: chats.refresh };
}
