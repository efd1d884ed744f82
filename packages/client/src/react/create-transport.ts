import { type ChatTransport, DefaultChatTransport, type HttpChatTransportInitOptions, type UIMessage } from "ai";
import { Server } from "../server/server.js";
import { LiveChatTransport, type LiveChatTransportOptions } from "../transport/live-chat-transport.js";
import type { HoldpointMode } from "./use-holdpoint.js";

/** `/stream` has no resume of its own: a turn that runs is picked up where the SDK's own transport would. */
class StreamTransport<UI_MESSAGE extends UIMessage> extends DefaultChatTransport<UI_MESSAGE> {
  readonly #resuming: DefaultChatTransport<UI_MESSAGE>;

  constructor(options: HttpChatTransportInitOptions<UI_MESSAGE>, resuming: HttpChatTransportInitOptions<UI_MESSAGE>) {
    super(options);
    this.#resuming = new DefaultChatTransport(resuming);
  }

  override reconnectToStream(options: Parameters<ChatTransport<UI_MESSAGE>["reconnectToStream"]>[0]) {
    return this.#resuming.reconnectToStream(options);
  }
}

/** What is used of the SDK's `WebSocketChatTransport`, which only version 7 has: an import of it would not load beside version 6. */
export type WebSocketTransportClass = new <UI_MESSAGE extends UIMessage>(options: {
  url: string;
  params: () => Promise<Record<string, string>>;
  /** Of a type of the SDK's own, which can't be named beside version 6. */
  webSocket?: never;
}) => ChatTransport<UI_MESSAGE>;

/** What the transports of all modes need. */
export type TransportOptions = LiveChatTransportOptions & { webSocketTransport?: WebSocketTransportClass | undefined };

/** The transport of a mode. */
export function createTransport<UI_MESSAGE extends UIMessage>(
  mode: HoldpointMode,
  options: TransportOptions,
): ChatTransport<UI_MESSAGE> | LiveChatTransport<UI_MESSAGE> {
  const server = new Server(options);
  const http = (api: string, headers: Record<string, string> = {}) => ({
    api: server.url(api),
    headers: { ...server.headers, ...headers },
    fetch: orNothing(server.fetch),
  });
  // A result that a browser makes is acknowledged while the response is open.
  const wait = { "x-holdpoint-wait": "stream" };
  switch (mode) {
    case "live":
      return new LiveChatTransport(options);
    case "sse":
      return new StreamTransport(http("/stream", { "x-holdpoint-text": "progressive" }), http("/api/chat", wait));
    case "ai-sdk":
      return new DefaultChatTransport(http("/api/chat", wait));
    case "ai-sdk-ws":
      return createWebSocketTransport(server, options);
  }
}

/** A chat that the server does not know yet has nothing to resume: that is no error. */
function orNothing(request: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await request(input, init);
    const isResume = (init?.method ?? "GET") === "GET";
    return isResume && response.status === 404 ? new Response(null, { status: 204 }) : response;
  };
}

function createWebSocketTransport<UI_MESSAGE extends UIMessage>(
  server: Server,
  { webSocket, webSocketTransport: Transport }: TransportOptions,
): ChatTransport<UI_MESSAGE> {
  if (Transport === undefined)
    throw new Error(
      'The mode "ai-sdk-ws" needs version 7 of the "ai" package: give its WebSocketChatTransport as webSocketTransport.',
    );
  return new Transport<UI_MESSAGE>({
    url: server.socketUrl("/api/chat/ws").href,
    params: async (): Promise<Record<string, string>> => {
      const ticket = await server.ticket();
      // A browser can't send headers with a WebSocket.
      return { wait: "stream", ...(ticket !== undefined && { ticket }) };
    },
    // The SDK calls it with a string too, and uses no more of it than we do.
    ...(webSocket !== undefined && { webSocket: webSocket as never }),
  });
}
