import { useEffect, useState } from "react";
import type { ChatHold, ChatId } from "../protocol.js";
import { fetchHolds, type ListedCalls } from "../server/fetch-holds.js";
import { followRecord } from "../server/follow-record.js";
import type { ServerOptions } from "../server/server-options.js";
import { useServerOptions } from "./use-server-options.js";

/**
 * The holds of a chat with their decisions and outcomes, kept current: what became of an approval request that left the
 * inbox, say. `undefined` until they are read. Nothing is read for the chat `undefined`.
 */
export function useHolds(
  chatId: ChatId | undefined,
  options: ServerOptions & { calls?: ListedCalls | undefined } = {},
): ChatHold[] | undefined {
  const server = useServerOptions(options);
  const { calls } = options;
  const [read, setRead] = useState<{ of: unknown; holds: ChatHold[] }>();

  useEffect(() => {
    if (chatId === undefined) return;
    const following = followRecord<ChatHold[]>(server, {
      read: (signal) => fetchHolds(chatId, { ...server, calls, signal }),
      isTouchedBy: (event) => "chatId" in event && event.chatId === chatId,
      onValue: (holds) => setRead({ of: `${chatId} ${calls}`, holds }),
    });
    following.refresh();
    return () => {
      following.stop();
      setRead(undefined);
    };
  }, [chatId, calls, server]);

  return read?.of === `${chatId} ${calls}` ? read.holds : undefined;
}
