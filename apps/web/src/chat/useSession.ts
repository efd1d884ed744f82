import { type UIMessage, WebSocketChatTransport } from "ai";
import { useHoldpoint } from "holdpoint/react";
import { useCallback, useMemo } from "react";
import { consoleFetch, useServer } from "../api/server";
import { markDecision } from "../inspector/markDecision";
import { recorderOf } from "../inspector/recordings";
import { tapFetch } from "../inspector/tapFetch";
import { tapWebSocket } from "../inspector/tapWebSocket";
import type { Mode } from "../modes";
import { browserTools } from "../tools/browserTools";

interface Options {
  chatId: string;
  mode: Mode;
  /** The server does not have this chat: there is nothing to read. */
  isNew: boolean;
}

/** A chat in one of the four modes, with all its traffic recorded. Remount it for another chat or mode. */
export function useSession({ chatId, mode, isNew }: Options) {
  const wires = useMemo(() => {
    const recorder = recorderOf(chatId);
    return {
      fetch: tapFetch(consoleFetch, recorder, mode),
      webSocket: tapWebSocket(recorder, mode),
      handlers: browserTools(recorder),
    };
  }, [chatId, mode]);
  const server = useServer();
  const chat = useHoldpoint<UIMessage>({
    ...server,
    ...wires,
    mode,
    id: chatId,
    webSocketTransport: WebSocketChatTransport,
    history: !isNew,
    calls: "all",
  });

  const { approve, deny, retry: retryChat, retryTool, sendMessage, regenerate } = chat;
  const decide = useCallback(
    (approvalId: string, approved: boolean, reason?: string) =>
      markDecision(chatId, { approvalId, approved }, () => (approved ? approve : deny)(approvalId, reason)),
    [chatId, approve, deny],
  );
  const retry = useCallback((toolCallId: string) => void retryTool(toolCallId), [retryTool]);
  const reload = useCallback(() => void retryChat(), [retryChat]);
  const send = useCallback((text: string) => void sendMessage({ text }), [sendMessage]);
  const edit = useCallback((messageId: string, text: string) => void sendMessage({ text, messageId }), [sendMessage]);
  // A request without anything new gets the continuation.
  const proceed = useCallback(() => void sendMessage(), [sendMessage]);
  const again = useCallback(() => void regenerate(), [regenerate]);
  return { ...chat, decide, retry, reload, send, edit, again, proceed };
}
