import type { UIMessage } from "ai";
import { fetchMessages } from "holdpoint";
import type { UseHoldpointHelpers } from "holdpoint/react";
import { useEffect, useRef } from "react";
import { subscribeToEvents } from "../api/events";
import { apiFetch } from "../api/http";
import type { Mode } from "../modes";
import { hasUnsentAnswer, isBeingWritten, mergeHistory } from "./mergeHistory";

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
  const follow = useRef<() => void>(undefined);
  const isIdle = chat.status === "ready" || chat.status === "error";

  useEffect(() => {
    let isReading = false;
    let isStale = false;
    let isGone = false;
    const mayWrite = () => !isGone && (latest.current.status === "ready" || latest.current.status === "error");
    const catchUp = async () => {
      const stored = (await fetchMessages(chatId, { fetch: apiFetch })) as UIMessage[];
      if (!mayWrite() || stored.length === 0) return;
      if (!isBeingWritten(stored)) {
        const merged = mergeHistory(latest.current.messages, stored);
        latest.current.setMessages(merged);
        // Our answer waited for another question, which somebody else has answered now.
        if (hasUnsentAnswer(merged, stored)) void latest.current.sendMessage();
        return;
      }
      latest.current.setMessages((shown) => withQuestions(shown, stored));
      // On a live connection what is written comes by itself.
      if (mode !== "live") await latest.current.resumeStream();
    };
    const run = async () => {
      if (isReading) return;
      isReading = true;
      while (isStale && mayWrite()) {
        isStale = false;
        // What fails now is tried at the next change.
        await catchUp().catch(() => undefined);
      }
      isReading = false;
    };
    follow.current = () => void run();
    const stop = subscribeToEvents((event) => {
      if (event.type !== "missed" && !(event.type === "chat" && event.chatId === chatId)) return;
      isStale = true;
      void run();
    });
    return () => {
      isGone = true;
      stop();
    };
  }, [chatId, mode]);

  // What changed while a response was read may be more than the response told.
  useEffect(() => {
    if (isIdle) follow.current?.();
  }, [isIdle]);
}

/** What another tab asked is shown before its answer; what this tab shows of the answer stays until it comes again. */
function withQuestions(shown: UIMessage[], stored: readonly UIMessage[]): UIMessage[] {
  const unknown = stored.filter(({ id }) => shown.every((message) => message.id !== id));
  return unknown.length === 0 ? shown : [...shown, ...unknown];
}
