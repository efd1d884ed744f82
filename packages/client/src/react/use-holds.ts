import { useEffect, useState } from "react";
import type { ChatHold, ChatId } from "../protocol.js";
import { followRecord } from "../server/follow-record.js";
import type { ClientOrOptions } from "../server/holdpoint.js";
import type { ListedCalls } from "../server/holds.js";
import { Server } from "../server/server.js";
import { useClient } from "./use-client.js";

/**
 * The holds of a chat with their decisions and outcomes, kept current: what became of an approval request that left the
 * inbox, say. `undefined` until they are read. Nothing is read for the chat `undefined`.
 */
export function useHolds(
  chatId: ChatId | undefined,
  options: ClientOrOptions & { calls?: ListedCalls | undefined } = {},
): ChatHold[] | undefined {
  const client = useClient(options);
  const { calls } = options;
  const [read, setRead] = useState<{ of: unknown; holds: ChatHold[] }>();

  useEffect(() => {
    if (chatId === undefined) return;
    const following = followRecord<ChatHold[]>(new Server(client.options), {
      read: (signal) => client.holds.ofChat(chatId, { calls, signal }),
      isTouchedBy: (event) => "chatId" in event && event.chatId === chatId,
      onValue: (holds) => setRead({ of: `${chatId} ${calls}`, holds }),
    });
    following.refresh();
    return () => {
      following.stop();
      setRead(undefined);
    };
  }, [chatId, calls, client]);

  return read?.of === `${chatId} ${calls}` ? read.holds : undefined;
}
