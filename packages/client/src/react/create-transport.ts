import * as ai from "ai";
import { type ChatTransport, DefaultChatTransport, type UIMessage } from "ai";
import { Server } from "../server/server.js";
import { LiveChatTransport, type LiveChatTransportOptions } from "../transport/live-chat-transport.js";
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
  // Looked up by name: with an import of this name the module could not be loaded beside `ai` 6.
  const { WebSocketChatTransport } = ai as Partial<typeof ai>;
  if (WebSocketChatTransport === undefined) {
    throw new Error(
      'The mode "ai-sdk-ws" needs version 7 of the "ai" package: version 6 has no WebSocketChatTransport.',
    );
  }
  type Options = ConstructorParameters<typeof WebSocketChatTransport<UI_MESSAGE>>[0];
  return new WebSocketChatTransport<UI_MESSAGE>({
    url: server.socketUrl("/api/chat/ws").href,
    ...(server.hasKey && { params: async () => ({ ticket: await server.ticket() }) }),
    ...(webSocket !== undefined && { webSocket: webSocket as unknown as NonNullable<Options["webSocket"]> }),
  });
}
