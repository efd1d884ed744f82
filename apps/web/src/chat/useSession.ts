import { type UIMessage, WebSocketChatTransport } from "ai";
import { useHoldpoint } from "holdpoint/react";
import { useCallback, useMemo } from "react";
import { eventsSource } from "../api/events";
import { apiFetch } from "../api/http";
import { keyStore } from "../api/key";
import { recorderOf } from "../inspector/recorder";
import { tapFetch } from "../inspector/tapFetch";
import { tapWebSocket } from "../inspector/tapWebSocket";
import type { Mode } from "../modes";
import { browserTools } from "../tools/browserTools";
import { useFollow } from "./useFollow";

interface Options {
  chatId: string;
  mode: Mode;
  initialMessages: UIMessage[];
}

/** A chat over one of the four wires, with everything that passes recorded. Mount it anew for another chat or mode. */
export function useSession({ chatId, mode, initialMessages }: Options) {
  const wires = useMemo(() => {
    const recorder = recorderOf(chatId);
    return {
      recorder,
      fetch: tapFetch(apiFetch, recorder, mode),
      webSocket: tapWebSocket(recorder, mode),
      handlers: browserTools(recorder),
    };
  }, [chatId, mode]);
  const { recorder, fetch, webSocket, handlers } = wires;
  const { key } = keyStore.read();
  const chat = useHoldpoint<UIMessage>({
    mode,
    chatId,
    apiKey: key,
    fetch,
    events: eventsSource,
    webSocket,
    webSocketTransport: WebSocketChatTransport,
    handlers,
    initialMessages,
  });
  useFollow({ chatId, mode, chat });

  const { addToolApprovalResponse, retryTool, sendMessage, regenerate } = chat;
  const decide = useCallback(
    (approvalId: string, approved: boolean, reason?: string) => {
      recorder.mark({ type: "decided", approvalId, approved });
      void addToolApprovalResponse({ id: approvalId, approved, ...(reason !== undefined && { reason }) });
    },
    [addToolApprovalResponse, recorder],
  );
  const retry = useCallback((toolCallId: string) => void retryTool(toolCallId), [retryTool]);
  const send = useCallback((text: string) => void sendMessage({ text }), [sendMessage]);
  const edit = useCallback((messageId: string, text: string) => void sendMessage({ text, messageId }), [sendMessage]);
  // A request that brings nothing new gets what follows.
  const proceed = useCallback(() => void sendMessage(), [sendMessage]);
  const again = useCallback(() => void regenerate(), [regenerate]);
  const { messages, status, error, clearError, stop, toolErrors, connection } = chat;
  return {
    messages,
    status,
    error,
    clearError,
    stop,
    toolErrors,
    connection,
    decide,
    retry,
    send,
    edit,
    again,
    proceed,
  };
}
