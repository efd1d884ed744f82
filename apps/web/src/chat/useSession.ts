import { type UIMessage, WebSocketChatTransport } from "ai";
import { useHoldpoint } from "holdpoint/react";
import { useCallback, useMemo } from "react";
import { eventsSource } from "../api/events";
import { apiFetch } from "../api/http";
import { keyStore } from "../api/key";
import { markDecision } from "../inspector/markDecision";
import { recorderOf } from "../inspector/recorder";
import { tapFetch } from "../inspector/tapFetch";
import { tapWebSocket } from "../inspector/tapWebSocket";
import type { Mode } from "../modes";
import { browserTools } from "../tools/browserTools";

interface Options {
  chatId: string;
  mode: Mode;
  messages: UIMessage[];
}

/** A chat in one of the four modes, with all its traffic recorded. Remount it for another chat or mode. */
export function useSession({ chatId, mode, messages }: Options) {
  const wires = useMemo(() => {
    const recorder = recorderOf(chatId);
    return {
      fetch: tapFetch(apiFetch, recorder, mode),
      webSocket: tapWebSocket(recorder, mode),
      handlers: browserTools(recorder),
    };
  }, [chatId, mode]);
  const { key } = keyStore.read();
  const chat = useHoldpoint<UIMessage>({
    ...wires,
    mode,
    id: chatId,
    apiKey: key,
    events: eventsSource,
    webSocketTransport: WebSocketChatTransport,
    messages,
    calls: "all",
  });

  const { approve, deny, retryTool, sendMessage, regenerate } = chat;
  const decide = useCallback(
    (approvalId: string, approved: boolean, reason?: string) =>
      markDecision(chatId, { approvalId, approved }, () => (approved ? approve : deny)(approvalId, reason)),
    [chatId, approve, deny],
  );
  const retry = useCallback((toolCallId: string) => void retryTool(toolCallId), [retryTool]);
  const send = useCallback((text: string) => void sendMessage({ text }), [sendMessage]);
  const edit = useCallback((messageId: string, text: string) => void sendMessage({ text, messageId }), [sendMessage]);
  // A request without anything new gets the continuation.
  const proceed = useCallback(() => void sendMessage(), [sendMessage]);
  const again = useCallback(() => void regenerate(), [regenerate]);
  return { ...chat, decide, retry, send, edit, again, proceed };
}
