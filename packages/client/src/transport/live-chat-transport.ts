import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import type { ChatId, Chunk, MessageId } from "../protocol.js";
import { type ClientOrOptions, withServerOptions } from "../server/holdpoint.js";
import type { HoldpointOptions } from "../server/options.js";
import type { LiveConnection } from "./live-connection.js";
import { type LiveRequest, LiveSession } from "./live-session.js";
import type { SocketClass } from "./socket-like.js";

/** Options of a {@link LiveChatTransport}: the client or its options, and these. */
export type LiveChatTransportOptions = ClientOrOptions & LiveOptions;

/** The same, without the client. */
export type LiveSessionOptions = HoldpointOptions & LiveOptions;

/** What a live connection takes beside the server. */
export type LiveOptions = {
  /** The chat: one per connection. */
  chatId: ChatId;
  /** The WebSocket class, such as that of the `ws` package. */
  webSocket?: SocketClass | undefined;
  /** `progressive` (default): text as the model writes it. `held`: only after the last approval of the turn. */
  text?: "progressive" | "held" | undefined;
  /**
   * How long the server may be silent after a message or an answer before the request fails. 0: forever. Default
   * 60,000.
   */
  answerTimeoutMs?: number | undefined;
  /** How many connection attempts may fail in a row before a waiting request fails. Default 8. */
  maxAttempts?: number | undefined;
  /** The interval between pings. 0: never. Default 15,000. */
  pingIntervalMs?: number | undefined;
  /** Called when the state of the connection changes. */
  onConnection?: ((connection: LiveConnection) => void) | undefined;
  /**
   * Something arrived that no stream reads: an expiry, a decision made elsewhere. Call the chat's `resumeStream` to
   * show it.
   */
  onUnread?: (() => void) | undefined;
  /** Called with every chunk from the server, replays included. */
  onChunk?: ((chunk: Chunk | "[DONE]") => void) | undefined;
};

/**
 * A `ChatTransport` for `/live`: one WebSocket per chat. A request's stream closes where the turn waits for an
 * approval, so that the client can submit the decision; the connection and the turn stay open.
 */
export class LiveChatTransport<UI_MESSAGE extends UIMessage = UIMessage> implements ChatTransport<UI_MESSAGE> {
  /** A resumed stream starts at the beginning of its message. */
  readonly resumeStreamIsReplay = true;
  readonly #session: LiveSession;

  constructor(options: LiveChatTransportOptions) {
    this.#session = new LiveSession(withServerOptions(options));
  }

  /** The current state of the connection. */
  get connection(): LiveConnection {
    return this.#session.connection;
  }

  /** Whether something arrived that no stream has read. */
  get hasUnread(): boolean {
    return this.#session.hasUnread;
  }

  /** The message that is still open on this connection, or has unread chunks. */
  get openMessage(): MessageId | undefined {
    return this.#session.openMessage;
  }

  /** Sends a message or an answer. The stream ends with the turn, or where it waits for an approval. */
  async sendMessages({
    chatId,
    messages,
    trigger,
    messageId,
    abortSignal,
    body,
  }: Parameters<ChatTransport<UI_MESSAGE>["sendMessages"]>[0]): Promise<ReadableStream<UIMessageChunk>> {
    const frame = { ...body, type: "message" as const, id: chatId, messages, trigger, messageId };
    const last = messages.at(-1);
    // A user message, or a regeneration, starts a turn; anything else continues the message that it answers.
    const continued = trigger === "submit-message" && last?.role === "assistant" ? last : undefined;
    return this.#session.request({ frame, continued } as LiveRequest, abortSignal);
  }

  /** The open message from its start, including what arrived unread; `null` if there is nothing to show. */
  async reconnectToStream({
    abortSignal,
  }: Parameters<ChatTransport<UI_MESSAGE>["reconnectToStream"]>[0]): Promise<ReadableStream<UIMessageChunk> | null> {
    return this.#session.resume(abortSignal);
  }

  /** Stops the turn, including one that waits for an approval and so has no stream to abort. */
  interrupt(reason?: string): void {
    this.#session.interrupt(reason);
  }

  /** Closes the connection; the turn continues on the server. A later request reconnects. */
  close(): void {
    this.#session.close();
  }
}
