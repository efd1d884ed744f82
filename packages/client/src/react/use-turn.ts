import type { Chat } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import { useMemo } from "react";
import type { ChatId } from "../protocol.js";
import { Chats } from "../server/chats.js";
import { asHoldpointError, requestFailure } from "../server/holdpoint-error.js";
import { retryUntilResponse } from "../server/retry-until-response.js";
import { withTimeLimit } from "../server/time-limit.js";
import type { ChatFollower } from "./chat-follower.js";
import type { HoldpointSession } from "./holdpoint-session.js";

/** How long a stop is retried. After that it could stop a different turn. */
const STOP_MS = 5_000;
/** How long the server may take to end a stopped response before the client abandons it. */
const END_MS = 2_000;

/** Actions on a turn. */
export type TurnControls = {
  /** Stops the turn, even while it is held. Never rejects: `stopping` reports the progress. */
  stop: () => Promise<void>;
  /** Resends the oldest unsent message. If the server has it after all, it responds with the continuation. */
  resend: () => Promise<void>;
  /**
   * Tries again what failed: resends the oldest unsent message or, if the server has them all, answers the last one
   * again. Does nothing if nothing failed.
   */
  retry: () => Promise<void>;
};

/** Stops turns and resends lost messages. */
export function useTurn<UI_MESSAGE extends UIMessage>({
  chat,
  session,
  follower,
  chatId,
}: {
  chat: Chat<UI_MESSAGE>;
  session: HoldpointSession<UI_MESSAGE>;
  follower: ChatFollower<UI_MESSAGE>;
  chatId: ChatId;
}): TurnControls {
  return useMemo(() => {
    const stop = async () => {
      session.set({ stopping: { state: "sending" } });
      try {
        const { signal } = new AbortController();
        await withTimeLimit(STOP_MS, signal, (limited) =>
          retryUntilResponse(session.server, (each) => new Chats(session.server).stop(chatId, { signal: each }), {
            signal: limited,
          }),
        );
        // The response reports the calls' outcomes; a lost response reports nothing.
        await session.whenIdle(END_MS);
        session.set({ stopping: undefined });
      } catch (error) {
        session.set({
          stopping: { state: "failed", error: asHoldpointError(requestFailure(error), "unreachable") },
        });
      }
      if (session.isBusy) await chat.stop();
      await follower.refresh();
    };
    const resend = async () => {
      await follower.refresh();
      const { unsent } = session.getState();
      const [next] = chat.messages.filter(({ id }) => unsent.includes(id));
      if (next === undefined) return;
      // Resend it under its own id, so that the server recognizes a duplicate.
      chat.messages = chat.messages.filter((message) => message !== next);
      await chat.sendMessage(next as Parameters<typeof chat.sendMessage>[0]);
    };
    const retry = async () => {
      await follower.refresh();
      if (session.getState().unsent.length > 0) await resend();
      else if (chat.status === "error") await chat.regenerate();
    };
    return { stop, resend, retry };
  }, [chat, session, follower, chatId]);
}
