import * as ai from "ai";
import { type ChatTransport, DefaultChatTransport, type UIMessage } from "ai";
import { Server } from "../server/server.js";
import { LiveChatTransport, type LiveChatTransportOptions } from "../transport/live-chat-transport.js";
import type { SocketClass } from "../transport/socket-like.js";
import type { HoldpointMode } from "./use-holdpoint.js";

/** `/stream` has nothing to resume: an answer is the next request. */
class StreamTransport<UI_MESSAGE extends UIMessage> extends DefaultChatTransport<UI_MESSAGE> {
  override async reconnectToStream(): Promise<null> {
    return null;
  }
}

/** The transport of a mode. */
export function createTransport<UI_MESSAGE extends UIMessage>(
  mode: HoldpointMode,
  options: LiveChatTransportOptions,
): ChatTransport<UI_MESSAGE> | LiveChatTransport<UI_MESSAGE> {
  const server = new Server(options);
  const { fetch } = options;
  const http = (api: string, headers: Record<string, string>) => ({
    api: server.url(api),
    headers: { ...server.headers, ...headers },
    ...(fetch !== undefined && { fetch }),
  });
  switch (mode) {
    case "live":
      return new LiveChatTransport(options);
    case "sse":
      return new StreamTransport(http("/stream", { "x-holdpoint-text": "progressive" }));
    case "ai-sdk":
      return new DefaultChatTransport(http("/api/chat", {}));
    case "ai-sdk-ws":
      return createWebSocketTransport(server, options);
  }
}

function createWebSocketTransport<UI_MESSAGE extends UIMessage>(
  server: Server,
  { webSocket }: LiveChatTransportOptions,
): ChatTransport<UI_MESSAGE> {
  const Transport = webSocketTransport();
  return new Transport<UI_MESSAGE>({
    url: server.socketUrl("/api/chat/ws").href,
    params: async (): Promise<Record<string, string>> => {
      const ticket = await server.ticket();
      return ticket === undefined ? {} : { ticket };
    },
    ...(webSocket !== undefined && { webSocket }),
  });
}

/** What is used of the SDK's class, which only version 7 has. */
type WebSocketTransport = new <UI_MESSAGE extends UIMessage>(options: {
  url: string;
  params: () => Promise<Record<string, string>>;
  webSocket?: SocketClass;
}) => ChatTransport<UI_MESSAGE>;

function webSocketTransport(): WebSocketTransport {
  // Looked up by name: with an import of this name the module could not be loaded beside version 6.
  const { WebSocketChatTransport } = ai as { WebSocketChatTransport?: unknown };
  if (WebSocketChatTransport !== undefined) return WebSocketChatTransport as WebSocketTransport;
  throw new Error('The mode "ai-sdk-ws" needs version 7 of the "ai" package: version 6 has no WebSocketChatTransport.');
}
