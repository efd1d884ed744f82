import type { UIMessage } from "ai";
import { fetchMessages } from "holdpoint";
import type { UseHoldpointHelpers } from "holdpoint/react";
import { useEffect, useRef } from "react";
import { subscribeToEvents } from "../api/events";
import { apiFetch } from "../api/http";
import type { Mode } from "../modes";
import { isBeingWritten, mergeHistory } from "./mergeHistory";

interface Options {
  chatId: string;
  mode: Mode;
  chat: UseHoldpointHelpers<UIMessage>;
}

/**
 * Keeps up with what happens to this chat elsewhere: a decision in the inbox, another tab, an expiry. While this tab has a
 * response of its own it hears of everything anyway.
 */
export function useFollow({ chatId, mode, chat }: Options): void {
  const latest = useRef(chat);
  latest.current = chat;

  useEffect(() => {
    let isReading = false;
    let isStale = false;
    let isGone = false;
    const isIdle = () => !isGone && (latest.current.status === "ready" || latest.current.status === "error");
    const catchUp = async () => {
      const stored = (await fetchMessages(chatId, { fetch: apiFetch })) as UIMessage[];
      if (!isIdle() || stored.length === 0) return;
      if (!isBeingWritten(stored)) latest.current.setMessages((shown) => mergeHistory(shown, stored));
      // On a live connection what is written comes by itself.
      else if (mode !== "live") {
        latest.current.setMessages((shown) => withQuestions(shown, stored));
        await latest.current.resumeStream();
      }
    };
    const follow = async () => {
      isStale = true;
      if (isReading) return;
      isReading = true;
      while (isStale && isIdle()) {
        isStale = false;
        // What fails now is tried at the next change.
        await catchUp().catch(() => undefined);
      }
      isReading = false;
    };
    const stop = subscribeToEvents((event) => {
      if (event.type === "missed" || (event.type === "chat" && event.chatId === chatId)) void follow();
    });
    return () => {
      isGone = true;
      stop();
    };
  }, [chatId, mode]);
}

/** What another tab asked is shown before its answer; what this tab shows of the answer stays until it comes again. */
function withQuestions(shown: UIMessage[], stored: readonly UIMessage[]): UIMessage[] {
  const unknown = stored.filter(({ id }) => shown.every((message) => message.id !== id));
  return unknown.length === 0 ? shown : [...shown, ...unknown];
}
