import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import type { ChatId, Chunk } from "../protocol.js";
import type { ServerOptions } from "../server/server-options.js";
import type { LiveConnection } from "./live-connection.js";

/** Options of a {@link LiveChatTransport}. */
export type LiveChatTransportOptions = ServerOptions & {
  /** The chat: one a connection. */
  chatId: ChatId;
  /** Another WebSocket class, such as the one of the `ws` package. */
  webSocket?: (new (url: string) => WebSocket) | undefined;
  /** `progressive` (default): text as the model writes it. `held`: only after the last approval of the turn. */
  text?: "progressive" | "held" | undefined;
  /** How long the server may say nothing after an answer, before that is an error. 0: for ever. Default 60,000. */
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

/** A `ChatTransport` for `/live`: one WebSocket for a chat, over which a turn goes on while it waits for an approval. */
export class LiveChatTransport<UI_MESSAGE extends UIMessage = UIMessage> implements ChatTransport<UI_MESSAGE> {
  /** What `resumeStream` gets begins at the message's beginning. */
  readonly resumeStreamIsReplay = true;

  constructor(_options: LiveChatTransportOptions) {}

  /** How the connection is now. */
  get connection(): LiveConnection {
    throw new Error("not built yet");
  }

  /** Whether something came that nobody has read. */
  get hasUnread(): boolean {
    throw new Error("not built yet");
  }

  /** Sends a message, or answers; the stream ends with the turn, or where it waits for an approval. */
  sendMessages(
    _options: Parameters<ChatTransport<UI_MESSAGE>["sendMessages"]>[0],
  ): Promise<ReadableStream<UIMessageChunk>> {
    throw new Error("not built yet");
  }

  /** The open message from its beginning, or what came while nobody read; `null` if there is neither. */
  reconnectToStream(
    _options: Parameters<ChatTransport<UI_MESSAGE>["reconnectToStream"]>[0],
  ): Promise<ReadableStream<UIMessageChunk> | null> {
    throw new Error("not built yet");
  }

  /** Stops the turn, also one that waits for an approval and so has no stream that could be aborted. */
  interrupt(_reason?: string): void {
    throw new Error("not built yet");
  }

  /** Closes the connection; the turn goes on at the server. A later request connects again. */
  close(): void {
    throw new Error("not built yet");
  }
}
