import type { UseChatHelpers } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import type { Failure } from "./failure";

/** Tries again what failed. Nothing is done twice on the server. */
export async function retry(chat: UseChatHelpers<UIMessage>, { kind }: Failure): Promise<void> {
  const { messages, setMessages, sendMessage, regenerate } = chat;
  const last = messages.at(-1);
  switch (kind) {
    case "not-sent":
      if (last?.role !== "user") return sendMessage(); // the answers in the last message
      // The same message with the same id. A server that has it after all sends what followed.
      setMessages(messages.slice(0, -1));
      return sendMessage(last);
    case "lost":
      // The turn goes on without this page: read what became of it.
      return window.location.reload();
    case "turn-failed":
      return regenerate();
  }
}
