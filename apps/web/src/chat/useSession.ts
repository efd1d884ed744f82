import { type UIMessage, WebSocketChatTransport } from "ai";
import type { ApprovalDecision } from "holdpoint";
import { useHoldpoint } from "holdpoint/react";
import { useCallback, useEffect, useMemo, useState } from "react";
import { consoleFetch, useServer } from "../api/server";
import { markDecision } from "../inspector/markDecision";
import { recorderOf } from "../inspector/recordings";
import { tapFetch } from "../inspector/tapFetch";
import { tapWebSocket } from "../inspector/tapWebSocket";
import type { Mode } from "../modes";
import { browserTools } from "../tools/browserTools";
import { type Delay, delayAfter } from "./delay";

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
  const [delay, setDelay] = useState<Delay>();
  const chat = useHoldpoint<UIMessage>({
    ...server,
    ...wires,
    mode,
    id: chatId,
    webSocketTransport: WebSocketChatTransport,
    history: !isNew,
    calls: "all",
    onChunk: (chunk) => setDelay(delayAfter(chunk)),
  });

  const { decide: sendDecision, retry: retryChat, retryTool, sendMessage, regenerate } = chat;
  const decide = useCallback(
    (approvalId: string, decision: ApprovalDecision) =>
      markDecision(chatId, approvalId, decision, () => sendDecision(approvalId, decision)),
    [chatId, sendDecision],
  );
  const retry = useCallback((toolCallId: string) => void retryTool(toolCallId), [retryTool]);
  const reload = useCallback(() => void retryChat(), [retryChat]);
  const send = useCallback((text: string) => void sendMessage({ text }), [sendMessage]);
  const edit = useCallback((messageId: string, text: string) => void sendMessage({ text, messageId }), [sendMessage]);
  // A request without anything new gets the continuation.
  const proceed = useCallback(() => void sendMessage(), [sendMessage]);
  const again = useCallback(() => void regenerate(), [regenerate]);
  // A response that broke off reported no end of the delay.
  const isBusy = chat.status === "submitted" || chat.status === "streaming";
  useEffect(() => {
    if (!isBusy) setDelay(undefined);
  }, [isBusy]);
  return { ...chat, delay: isBusy ? delay : undefined, decide, retry, reload, send, edit, again, proceed };
}
