import { type ChatTransport, DefaultChatTransport, type HttpChatTransportInitOptions, type UIMessage } from "ai";
import { HoldpointError, isWebPage, notHoldpoint } from "../server/holdpoint-error.js";
import { Server } from "../server/server.js";
import { LiveChatTransport, type LiveSessionOptions } from "../transport/live-chat-transport.js";
import { withSilenceLimit } from "../transport/silence-limit.js";
import type { HoldpointMode } from "./use-holdpoint-options.js";

/** `/stream` has no resume endpoint of its own: a running turn is resumed where the SDK's default transport would. */
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

/**
 * The subset of the SDK's `WebSocketChatTransport` used here. Only version 7 has it, so importing it would break
 * version 6.
 */
export type WebSocketTransportClass = new <UI_MESSAGE extends UIMessage>(options: {
  url: string;
  params: () => Promise<Record<string, string>>;
  /** Its type is the SDK's own and does not exist in version 6. */
  webSocket?: never;
}) => ChatTransport<UI_MESSAGE>;

/** Options for the transports of all modes. */
export type TransportOptions = LiveSessionOptions & { webSocketTransport?: WebSocketTransportClass | undefined };

/** Creates the transport for a mode. */
export function createTransport<UI_MESSAGE extends UIMessage>(
  mode: HoldpointMode,
  options: TransportOptions,
): ChatTransport<UI_MESSAGE> | LiveChatTransport<UI_MESSAGE> {
  const server = new Server(options);
  const http = (api: string, headers: Record<string, string> = {}) => ({
    api: server.url(api),
    headers: async () => ({ ...(await server.settings()).headers, ...headers }),
    ...(options.credentials !== undefined && { credentials: options.credentials }),
    fetch: withSilenceLimit(orThrow(orNothing(server.fetch))),
  });
  // Browser results are acknowledged while the response is open.
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

/** A chat that is unknown to the server has nothing to resume. That is not an error. */
function orNothing(request: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await request(input, init);
    const isResume = (init?.method ?? "GET") === "GET";
    return isResume && response.status === 404 ? new Response(null, { status: 204 }) : response;
  };
}

/** A refusal with its code. The SDK would keep only its text. */
function orThrow(request: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await request(input, init);
    if (!response.ok) throw await HoldpointError.of(response);
    // The SDK would read a page as a response without any chunks.
    if (isWebPage(response)) throw notHoldpoint(response);
    return response;
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
  const create = (): ChatTransport<UI_MESSAGE> =>
    new Transport<UI_MESSAGE>({
      url: server.socketUrl("/api/chat/ws").href,
      params: async (): Promise<Record<string, string>> => {
        const ticket = await server.ticket();
        // A browser can't send headers with a WebSocket.
        return { wait: "stream", ...(ticket !== undefined && { ticket }) };
      },
      // The SDK also passes a string, and uses no more of the class than we do.
      ...(webSocket !== undefined && { webSocket: webSocket as never }),
    });
  // Later, since a page that is rendered on a server has no address that a relative one could refer to.
  let made: ChatTransport<UI_MESSAGE> | undefined;
  const transport = () => {
    made ??= create();
    return made;
  };
  const lazy = {
    resumeStreamIsReplay: true,
    sendMessages: (request: Parameters<ChatTransport<UI_MESSAGE>["sendMessages"]>[0]) =>
      transport().sendMessages(request),
    reconnectToStream: (request: Parameters<ChatTransport<UI_MESSAGE>["reconnectToStream"]>[0]) =>
      transport().reconnectToStream(request),
    close: () => (made as { close?: () => void } | undefined)?.close?.(),
  };
  return lazy;
}
