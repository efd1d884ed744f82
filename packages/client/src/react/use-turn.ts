import type { UseChatHelpers } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import { useMemo, useRef } from "react";
import { repeatUntilAnswered } from "../server/repeat.js";
import { stopChat } from "../server/stop-chat.js";
import { withTimeLimit } from "../server/time-limit.js";
import type { LiveChatTransportOptions } from "../transport/live-chat-transport.js";
import type { ChatFollower } from "./chat-follower.js";
import type { HoldpointSession } from "./holdpoint-session.js";

/** For how long a stop is repeated. Later it could meet another turn. */
const STOP_MS = 5_000;
/** How long the server may take to end a response after it was stopped, before the response is left. */
const END_MS = 2_000;

/** What a page can do about a turn. */
export type TurnControls = {
  /** Stops the turn, also one that waits. Never rejects: `stopping` says how it goes. */
  stop: () => Promise<void>;
  /** Sends the oldest message that the server does not have. A server that has it after all answers with what followed. */
  resend: () => Promise<void>;
};

/** Stops turns, and sends again what got lost. */
export function useTurn<UI_MESSAGE extends UIMessage>({
  chat,
  session,
  follower,
  server,
}: {
  chat: UseChatHelpers<UI_MESSAGE>;
  session: HoldpointSession<UI_MESSAGE>;
  follower: ChatFollower<UI_MESSAGE>;
  server: LiveChatTransportOptions;
}): TurnControls {
  const latest = useRef(chat);
  latest.current = chat;
  return useMemo(() => {
    const stop = async () => {
      session.set({ stopping: { state: "sending" } });
      try {
        const { signal } = new AbortController();
        await withTimeLimit(STOP_MS, signal, (limited) =>
          repeatUntilAnswered(session.server, (each) => stopChat(server.chatId, { ...server, signal: each }), {
            signal: limited,
          }),
        );
        // The response tells what became of the calls; one that was lost tells nothing.
        await session.whenIdle(END_MS);
        session.set({ stopping: undefined });
      } catch (error) {
        session.set({
          stopping: { state: "failed", error: error instanceof Error ? error : new Error(String(error)) },
        });
      }
      if (session.isBusy) await latest.current.stop();
      await follower.refresh();
    };
    const resend = async () => {
      await follower.refresh();
      const { unsent } = session.getState();
      const { messages, setMessages, sendMessage } = latest.current;
      const [next] = messages.filter(({ id }) => unsent.includes(id));
      if (next === undefined) return;
      // With its own id: the server knows it if it has it.
      setMessages(messages.filter((message) => message !== next));
      await sendMessage(next as Parameters<typeof sendMessage>[0]);
    };
    return { stop, resend };
  }, [session, follower, server]);
}
