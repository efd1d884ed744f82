import type { UseChatHelpers } from "@ai-sdk/react";
import { isToolUIPart, type UIMessage } from "ai";
import type { ChatHold } from "holdpoint/protocol";
import { useEffect, useState } from "react";
import { holdpoint } from "@/lib/holdpoint";

/** While a call waits, how long after one look at the server's record comes the next. */
const EVERY_MS = 2_000;

/**
 * What the server has about the calls of the chat, while one of the last message waits. `useChat` hears nothing between
 * its requests: not that others have approved too, nor that a call was decided, stopped or expired elsewhere. Then the
 * messages are read again.
 */
export function useRecord(chat: UseChatHelpers<UIMessage>): readonly ChatHold[] {
  const { id, messages, status, setMessages, resumeStream } = chat;
  const [holds, setHolds] = useState<readonly ChatHold[]>([]);
  const open = (messages.at(-1)?.parts ?? []).filter(isToolUIPart).filter(({ state }) => !state.startsWith("output-"));
  // While a response is open, it says everything.
  const waiting = status === "ready" ? open.map(({ toolCallId }) => toolCallId).join(" ") : "";

  useEffect(() => {
    if (waiting === "") return;
    const end = new AbortController();
    const { signal } = end;
    let timer: ReturnType<typeof setTimeout>;
    async function look(): Promise<void> {
      const read = await holdpoint.holds.ofChat(id, { signal });
      if (signal.aborted) return;
      setHolds(read);
      const shown = new Set(waiting.split(" "));
      if (!read.some(({ toolCallId, state }) => state !== "waiting" && shown.has(toolCallId))) return;
      const stored = await holdpoint.chats.messages(id, { signal });
      if (signal.aborted) return;
      setMessages(stored);
      await resumeStream(); // a turn that still runs
    }
    async function follow(): Promise<void> {
      await look().catch(() => {}); // the server can't be reached: the next look tries again
      if (!signal.aborted) timer = setTimeout(follow, EVERY_MS);
    }
    void follow();
    return () => {
      end.abort();
      clearTimeout(timer);
    };
  }, [id, waiting, setMessages, resumeStream]);

  return holds;
}
