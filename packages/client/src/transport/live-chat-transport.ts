import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import type { ChatId, Chunk, MessageId } from "../protocol.js";
import type { ServerOptions } from "../server/server-options.js";
import type { LiveConnection } from "./live-connection.js";
import { type LiveRequest, LiveSession } from "./live-session.js";
import type { SocketClass } from "./socket-like.js";

/** Options of a {@link LiveChatTransport}. */
export type LiveChatTransportOptions = ServerOptions & {
  /** The chat: one a connection. */
  chatId: ChatId;
  /** Another WebSocket class, such as the one of the `ws` package. */
  webSocket?: SocketClass | undefined;
  /** `progressive` (default): text as the model writes it. `held`: only after the last approval of the turn. */
  text?: "progressive" | "held" | undefined;
  /** How long the server may say nothing after a message or an answer, before that is an error. 0: for ever. Default 60,000. */
  answerTimeoutMs?: number | undefined;
  /** How many attempts to connect may fail in a row before a waiting request fails. Default 8. */
  maxAttempts?: number | undefined;
  /** How often the connection is tried with a ping. 0: never. Default 15,000. */
  pingIntervalMs?: number | undefined;
  /** The state of the connection, whenever it changes. */
  onConnection?: ((connection: LiveConnection) => void) | undefined;
  /** Something came that nobody reads: an expiry, a decision made elsewhere. Call `resumeStream` of the chat to show it. */
  onUnread?: (() => void) | undefined;
  /** Every chunk as it comes from the server, replays included. */
  onChunk?: ((chunk: Chunk | "[DONE]") => void) | undefined;
};

/**
 * A `ChatTransport` for `/live`: one WebSocket for a chat. The stream that a request returns closes where the turn waits for an
 * approval, so that the client is ready for the answer; the connection and the turn stay.
 */
export class LiveChatTransport<UI_MESSAGE extends UIMessage = UIMessage> implements ChatTransport<UI_MESSAGE> {
  /** What `resumeStream` gets begins at the message's beginning. */
  readonly resumeStreamIsReplay = true;
  readonly #session: LiveSession;

  constructor(options: LiveChatTransportOptions) {
    this.#session = new LiveSession(options);
  }

  /** How the connection is now. */
  get connection(): LiveConnection {
    return this.#session.connection;
  }

  /** Whether something came that nobody has read. */
  get hasUnread(): boolean {
    return this.#session.hasUnread;
  }

  /** The message that more may come of on this connection, or that has something unread. */
  get openMessage(): MessageId | undefined {
    return this.#session.openMessage;
  }

  /** Sends a message, or answers; the stream ends with the turn, or where it waits for an approval. */
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
    // A message of the user's, or another answer, begins a turn; everything else goes on with the message that it answers.
    const continued = trigger === "submit-message" && last?.role === "assistant" ? last : undefined;
    return this.#session.request({ frame, continued } as LiveRequest, abortSignal);
  }

  /** The open message from its beginning, with what came while nobody read; `null` if there is nothing to show. */
  async reconnectToStream({
    abortSignal,
  }: Parameters<ChatTransport<UI_MESSAGE>["reconnectToStream"]>[0]): Promise<ReadableStream<UIMessageChunk> | null> {
    return this.#session.resume(abortSignal);
  }

  /** Stops the turn, also one that waits for an approval and so has no stream that could be aborted. */
  interrupt(reason?: string): void {
    this.#session.interrupt(reason);
  }

  /** Closes the connection; the turn goes on at the server. A later request connects again. */
  close(): void {
    this.#session.close();
  }
}
