import type { UseChatHelpers } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import { useCallback, useRef } from "react";
import { fetchMessages } from "../server/fetch-messages.js";
import { stopChat } from "../server/stop-chat.js";
import { isReleased } from "../tools/is-released.js";
import type { LiveChatTransportOptions } from "../transport/live-chat-transport.js";
import type { HoldpointSession } from "./holdpoint-session.js";
import { mergeStored, openQuestions, settledCalls, withApproval } from "./merge-stored.js";

/** What the server has stored, for what no stream tells. */
export function useStored<UI_MESSAGE extends UIMessage>({
  chat,
  session,
  server,
}: {
  chat: UseChatHelpers<UI_MESSAGE>;
  session: HoldpointSession<UI_MESSAGE>;
  server: LiveChatTransportOptions;
}): {
  /** Takes over what was decided elsewhere. */
  sync: () => Promise<void>;
  /** Stops the response and the turn, also one that waits. */
  stop: () => Promise<void>;
} {
  const latest = useRef(chat);
  latest.current = chat;

  const sync = useCallback(async () => {
    const stored = await fetchMessages(server.chatId, server);
    // On a live connection outcomes come by themselves; that this browser may now run its own call does not.
    await take((messages) => mergeStored(messages, stored, session.live && "approved"));
    for (const { tool, approvalId } of openQuestions(latest.current.messages.at(-1))) {
      if (!session.executor.isOwn(tool)) continue;
      if (await isReleased({ chatId: server.chatId, toolCallId: tool.toolCallId }, server)) {
        await take((messages) => withApproval(messages, approvalId));
      }
    }

    /** Changes the messages, if nothing else does at the moment. */
    async function take(change: (messages: UI_MESSAGE[]) => UI_MESSAGE[] | undefined) {
      const { status, messages, setMessages, sendMessage } = latest.current;
      const merged = status === "ready" || status === "error" ? change(messages) : undefined;
      if (merged === undefined) return;
      session.autoSend?.settled(settledCalls(merged));
      setMessages(merged);
      // That was the last open question: what was answered here can go out now. The SDK asks only after its own changes.
      if (session.shouldSend({ messages: merged })) await sendMessage();
    }
  }, [server, session]);

  const stop = useCallback(async () => {
    const { status, stop: stopResponse } = latest.current;
    const isBusy = status === "submitted" || status === "streaming";
    await stopResponse();
    if (session.live === undefined) {
      await stopChat(server.chatId, server);
      await sync();
    } else if (!isBusy) session.live.interrupt();
  }, [server, session, sync]);

  return { sync, stop };
}
