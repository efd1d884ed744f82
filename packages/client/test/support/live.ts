import type { UIMessage } from "ai";
import WebSocket from "ws";
import { LiveChatTransport, type LiveChatTransportOptions, sendAutomaticallyWhen } from "../../src/index.js";
import { PlainChat } from "./chat.js";
import { until } from "./until.js";

let chats = 0;

/** The SDK's client over the live transport, put together as an application without React would. */
export function openLive({
  onMessages = () => {},
  ...options
}: Partial<LiveChatTransportOptions> & { baseUrl: string; onMessages?: (messages: UIMessage[]) => void }) {
  const chatId = options.chatId ?? `live-${chats++}-${process.pid}`;
  const autoSend = sendAutomaticallyWhen({ frontendTools: ["get_location", "open-url"] });
  const received: string[] = [];
  const pickUp = () => {
    const isIdle = chat.status === "ready" || chat.status === "error";
    if (isIdle && transport.hasUnread) void chat.resumeStream().then(pickUp);
  };
  const transport = new LiveChatTransport({
    webSocket: WebSocket,
    onUnread: pickUp,
    onChunk: (chunk) => received.push(chunk === "[DONE]" ? chunk : JSON.stringify(chunk)),
    ...options,
    chatId,
  });
  const chat = new PlainChat({
    id: chatId,
    transport: autoSend.watch(transport),
    sendAutomaticallyWhen: autoSend,
    onFinish: () => queueMicrotask(pickUp),
    onMessages,
  });
  /** Waits for an approval request that was not answered yet. */
  const approvalRequest = () => until("an approval request", () => chat.status === "ready" && chat.approvalRequest);
  const answer = async (approved: boolean) => chat.addToolApprovalResponse({ id: await approvalRequest(), approved });
  /** Waits until the turn has ended in text. */
  const end = () =>
    until("the end", () => {
      const isOpen = chat.calls.some((call) => !call.state.startsWith("output-"));
      return chat.status === "ready" && !isOpen && chat.lastMessage?.parts.at(-1)?.type === "text";
    });
  return { chat, transport, chatId, received, approvalRequest, answer, end };
}
