import { fetchHolds } from "holdpoint";
import type { ChatHold } from "holdpoint/protocol";
import { useEffect, useState } from "react";
import { subscribeToEvents } from "../api/events";
import { apiFetch } from "../api/http";
import { keyStore } from "../api/key";
import { useStore } from "../store";

/** The holds of a chat, kept current while `isWanted`. */
export function useHoldsOf(chatId: string, isWanted: boolean): readonly ChatHold[] | undefined {
  const [holds, setHolds] = useState<readonly ChatHold[]>();
  const { generation } = useStore(keyStore);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new key means a different record
  useEffect(() => {
    if (!isWanted) return;
    const controller = new AbortController();
    const read = () => {
      fetchHolds(chatId, { fetch: apiFetch, signal: controller.signal })
        .then(setHolds)
        // The next change retries.
        .catch(() => undefined);
    };
    read();
    const stop = subscribeToEvents((event) => {
      if (!("chatId" in event) || event.chatId === chatId) read();
    });
    return () => {
      controller.abort();
      stop();
    };
  }, [chatId, isWanted, generation]);

  return holds;
}
