import type { UseChatHelpers } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import { fetchMessages } from "holdpoint";
import { RequestError } from "@/lib/transport";

/** Tries again what failed, depending on how far it got. Nothing is done twice on the server. */
export function useRetry(chat: UseChatHelpers<UIMessage>): () => Promise<void> {
  const { id, messages, error, setMessages, sendMessage, resumeStream, regenerate } = chat;

  return async () => {
    const last = messages.at(-1);
    if (error instanceof RequestError) {
      if (last?.role !== "user") return sendMessage(); // the answers in the last message
      // With the same id: a server that has the message after all sends what followed.
      setMessages(messages.slice(0, -1));
      return sendMessage(last);
    }
    if (error instanceof TypeError) {
      // The connection was lost in mid-response, but the turn goes on. Follow it, and read what was missed.
      await resumeStream();
      return fetchMessages(id).then(setMessages, () => {}); // if there is no server, `resumeStream` has reported it
    }
    return regenerate(); // the turn failed
  };
}
