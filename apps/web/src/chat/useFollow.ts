import type { UIMessage } from "ai";
import { fetchMessages } from "holdpoint";
import type { UseHoldpointHelpers } from "holdpoint/react";
import { useEffect, useRef } from "react";
import { subscribeToEvents } from "../api/events";
import { apiFetch } from "../api/http";
import { mergeHistory } from "./mergeHistory";

/**
 * Keeps up with what happens to this chat elsewhere: a decision in the inbox, another tab, an expiry. While this tab has a
 * response of its own it hears of everything anyway.
 */
export function useFollow(chatId: string, chat: UseHoldpointHelpers<UIMessage>): void {
  const latest = useRef(chat);
  latest.current = chat;

  useEffect(() => {
    let isReading = false;
    let isStale = false;
    let isGone = false;
    const isIdle = () => latest.current.status === "ready" || latest.current.status === "error";
    const read = async () => {
      if (isReading) {
        isStale = true;
        return;
      }
      isReading = true;
      do {
        isStale = false;
        if (!isIdle() || latest.current.messages.length === 0) break;
        try {
          await latest.current.resumeStream();
          const stored = (await fetchMessages(chatId, { fetch: apiFetch })) as UIMessage[];
          if (!isGone && isIdle() && stored.length > 0) {
            latest.current.setMessages((shown) => mergeHistory(shown, stored));
          }
        } catch {
          // The next event asks again.
        }
      } while (isStale && !isGone);
      isReading = false;
    };
    const stop = subscribeToEvents((event) => {
      if (event.type === "missed" || (event.type === "chat" && event.chatId === chatId)) void read();
    });
    return () => {
      isGone = true;
      stop();
    };
  }, [chatId]);
}
