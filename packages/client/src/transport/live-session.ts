import type { UIMessageChunk } from "ai";
import type { Chunk, MessageId, UiMessage } from "../protocol.js";
import { storedMessages } from "../server/chats.js";
import { HoldpointError } from "../server/holdpoint-error.js";
import { Server } from "../server/server.js";
import type { LiveSessionOptions } from "./live-chat-transport.js";
import type { LiveConnection } from "./live-connection.js";
import type { LiveRecord } from "./live-record.js";
import { LiveSocket } from "./live-socket.js";
import { MessageLog } from "./message-log.js";
import { VisibleStream } from "./visible-stream.js";

/** A client's request. */
export type LiveRequest = {
  /** The frame to send. */
  frame: { type: "message"; messages: UiMessage[]; messageId: string | undefined };
  /** The assistant message that it continues; none for a new turn. */
  continued: UiMessage | undefined;
};

/** The request whose stream is open. */
type Open = {
  visible: VisibleStream;
  /** None for a resumed stream. */
  request: LiveRequest | undefined;
  /** Messages that existed before the request: none of them is the new turn. */
  before: ReadonlySet<string>;
  /** Whether the server has responded since: then it has the request, which need not be resent. */
  isHeard: boolean;
  timeout: ReturnType<typeof setTimeout> | undefined;
};

/** What the server tells about the connection, such as that it ignores a kind of frame. */
const NOTICE = "data-holdpoint-notice";
/** How many messages with unread chunks are kept. */
const MAX_LOGS = 8;
/** How long an interrupt waits for a connection. After that it could stop a different turn. */
const INTERRUPT_MS = 5_000;
/** How many pings must be answered after a reconnect before the server counts as having nothing to replay. */
const PING_ROUNDS = 2;

/** A chat over one connection: the messages received, and the stream that shows one of them. */
export class LiveSession {
  readonly #options: LiveSessionOptions;
  readonly #server: Server;
  readonly #socket: LiveSocket;
  /** Oldest first; the last is the server's current message. */
  #logs: MessageLog[] = [];
  #open: Open | undefined;
  /** Whether the server has sent anything of the open message on this connection. */
  #hasReplayed = false;
  #resumes = 0;
  #interrupt: { reason: string | undefined; at: number } | undefined;
  #waiters: (() => void)[] = [];

  constructor(options: LiveSessionOptions) {
    this.#options = options;
    this.#server = new Server(options);
    this.#socket = new LiveSocket({
      ...options,
      text: options.text ?? "progressive",
      webSocket: options.webSocket,
      maxAttempts: options.maxAttempts ?? 8,
      pingIntervalMs: options.pingIntervalMs ?? 15_000,
      onOpen: () => this.#opened(),
      onRecord: (record) => this.#record(record),
      onFailure: (error) => this.#failed(error),
      onConnection: (connection) => options.onConnection?.(connection),
    });
  }

  get connection(): LiveConnection {
    return this.#socket.connection;
  }

  get hasUnread(): boolean {
    return this.#open === undefined && this.#logs.some((log) => log.hasUnread);
  }

  get openMessage(): MessageId | undefined {
    const log = this.#logs.at(-1);
    return log !== undefined && (!log.isOver || log.hasUnread) ? log.id : undefined;
  }

  /** Sends a request and shows its response. */
  request(request: LiveRequest, signal: AbortSignal | undefined): ReadableStream<UIMessageChunk> {
    signal?.throwIfAborted();
    const { continued, frame } = request;
    const before = new Set([...this.#logs, ...frame.messages].map(({ id }) => id).concat(frame.messageId ?? []));
    const open = this.#show({ request, before, signal, onAbort: () => this.interrupt() });
    if (continued === undefined) {
      // A new turn: earlier messages are no longer awaited.
      for (const log of this.#logs) log.discard();
    } else {
      const log = this.#logs.find((known) => known.id === continued.id) ?? MessageLog.of(continued);
      if (!this.#logs.includes(log)) this.#keep(log);
      log.answered();
      open.visible.attach(log, "with-start");
    }
    this.#socket.open();
    this.#socket.send(request.frame);
    return open.visible.stream;
  }

  /** The stream of the open or unread message, from its start. */
  async resume(signal: AbortSignal | undefined): Promise<ReadableStream<UIMessageChunk> | null> {
    signal?.throwIfAborted();
    const number = ++this.#resumes;
    if (this.#logs.length === 0) await this.#whenReplayed(signal);
    const current = this.#logs.at(-1);
    const log = this.#logs.find((known) => known.hasUnread) ?? (current?.isRunning ? current : undefined);
    const isTaken = this.#open?.request !== undefined || number !== this.#resumes;
    if (log === undefined || isTaken || signal?.aborted) return null;
    log.rewind();
    // The SDK aborts a resumed stream both for the next one and for a stop: only a stop should interrupt the turn.
    const onAbort = () =>
      queueMicrotask(() => {
        if (number === this.#resumes) this.interrupt();
      });
    const open = this.#show({ request: undefined, before: new Set(), signal, onAbort });
    open.visible.attach(log, "as-it-is");
    return open.visible.stream;
  }

  interrupt(reason?: string): void {
    this.#open?.visible.end();
    this.#interrupt = { reason, at: performance.now() };
    this.#socket.open();
    this.#flushInterrupt();
  }

  close(): void {
    const open = this.#open;
    this.#open = undefined;
    clearTimeout(open?.timeout);
    open?.visible.end();
    this.#interrupt = undefined;
    this.#logs = [];
    this.#socket.close();
    this.#resolveWaiters();
  }

  #show({
    request,
    before,
    signal,
    onAbort,
  }: Pick<Open, "request" | "before"> & { signal: AbortSignal | undefined; onAbort: () => void }): Open {
    this.#open?.visible.end();
    const visible = new VisibleStream(() => {
      signal?.removeEventListener("abort", abort);
      clearTimeout(open.timeout);
      if (this.#open !== open) return;
      this.#open = undefined;
      this.#tidy();
      this.#notifyUnread();
    });
    const open: Open = { visible, request, before, isHeard: false, timeout: undefined };
    const abort = () => {
      // After the transport was closed, the turn must continue.
      if (this.#open === open && this.connection.state !== "closed") onAbort();
    };
    signal?.addEventListener("abort", abort);
    const limit = this.#options.answerTimeoutMs ?? 60_000;
    if (request !== undefined && limit > 0) {
      const seconds = Math.round(limit / 1000);
      const words = `The server has not responded for ${seconds} s. Your message may have arrived; try again.`;
      open.timeout = setTimeout(() => visible.fail(new HoldpointError("timeout", words)), limit);
    }
    this.#open = open;
    return open;
  }

  /** A new connection: the server replays the open message from its start. */
  #opened(): void {
    this.#hasReplayed = false;
    this.#flushInterrupt();
    const { request, isHeard } = this.#open ?? {};
    // It may have been lost with the connection. The server recognizes a message or an answer that it already has.
    if (request !== undefined && !isHeard) this.#socket.send(request.frame);
    this.#pingUntilReplayed(PING_ROUNDS);
  }

  /** A server with nothing to send stays silent: an answered ping shows that it had time to send. */
  #pingUntilReplayed(times: number): void {
    this.#socket.barrier(() => {
      if (this.#hasReplayed) this.#resolveWaiters();
      else if (times > 1) this.#pingUntilReplayed(times - 1);
      else void this.#catchUp().finally(() => this.#resolveWaiters());
    });
  }

  /** The open turn was not replayed: it may have ended while disconnected. Then the stored message has the rest. */
  async #catchUp(): Promise<void> {
    const open = this.#open;
    const log = open === undefined ? this.#logs.at(-1) : open.visible.log;
    if (log === undefined ? open?.request === undefined : log.isOver) return;
    const messages = await storedMessages(this.#server, this.#options.chatId).catch(() => undefined);
    if (messages === undefined || this.#hasReplayed) return;
    const stored = messages.find(({ id }) => id === log?.id);
    if (stored !== undefined && log?.catchUp(stored)) this.#changed(log);
    else if (log === undefined) this.#catchUpNewTurn(messages);
  }

  /** A whole turn was missed: it is the response if it follows the message that was sent. */
  #catchUpNewTurn(messages: UiMessage[]): void {
    const asked = this.#open?.request?.frame.messages.at(-1)?.id;
    const answer = messages[messages.findIndex(({ id }) => id === asked) + 1];
    if (asked === undefined || answer?.role !== "assistant" || this.#open?.before.has(answer.id)) return;
    const log = new MessageLog(answer.id);
    log.take({ type: "start", messageId: answer.id });
    if (!log.catchUp(answer)) return;
    this.#keep(log);
    this.#changed(log);
  }

  #record(record: LiveRecord): void {
    if (record.kind === "done") {
      this.#options.onChunk?.("[DONE]");
      this.#logs.at(-1)?.end();
      this.#changed(this.#logs.at(-1));
    }
    if (record.kind !== "chunk") return;
    this.#options.onChunk?.(record.chunk);
    this.#take(record.chunk);
  }

  #take(chunk: Chunk): void {
    // About the connection, and not about a message.
    if (chunk.type === NOTICE) return;
    if (chunk.type === "start" && chunk.messageId !== undefined) {
      this.#hasReplayed = true;
      const known = this.#logs.find((log) => log.id === chunk.messageId);
      if (known !== undefined) {
        known.startReplay();
        this.#logs = [...this.#logs.filter((log) => log !== known), known];
        return;
      }
      this.#keep(new MessageLog(chunk.messageId));
    }
    const log = this.#logs.at(-1);
    const visible = this.#open?.visible;
    const isOfMessage = log !== undefined && !log.isOver && (visible === undefined || visible.log === log);
    if (chunk.type === "error" && !isOfMessage) {
      // The error concerns the request, not a message.
      visible?.fail(new HoldpointError("turn-failed", chunk.errorText));
      return;
    }
    if (log?.take(chunk)) this.#changed(log);
  }

  /** A message has new chunks. */
  #changed(log: MessageLog | undefined): void {
    const open = this.#open;
    if (log === undefined) return;
    if (open === undefined) {
      this.#notifyUnread();
      return;
    }
    const { visible } = open;
    if (visible.log === undefined) {
      // The end of the previous turn, which the new one stopped.
      if (open.before.has(log.id)) {
        log.discard();
        return;
      }
      visible.attach(log, "as-it-is");
    } else if (visible.log !== log) {
      // Another tab started a new turn: this one will not continue.
      visible.end();
      return;
    }
    open.isHeard = true;
    clearTimeout(open.timeout);
    open.visible.wake();
  }

  #keep(log: MessageLog): void {
    this.#logs.push(log);
    this.#tidy();
  }

  /** Drops messages that were read, except the last. */
  #tidy(): void {
    const isKept = (log: MessageLog, at: number) =>
      at === this.#logs.length - 1 || log.hasUnread || log === this.#open?.visible.log;
    this.#logs = this.#logs.filter(isKept).slice(-MAX_LOGS);
  }

  #notifyUnread(): void {
    if (this.hasUnread) this.#options.onUnread?.();
  }

  #flushInterrupt(): void {
    if (this.#interrupt === undefined) return;
    const { reason, at } = this.#interrupt;
    if (performance.now() - at > INTERRUPT_MS) this.#interrupt = undefined;
    else if (this.#socket.send({ type: "interrupt", ...(reason !== undefined && { reason }) }))
      this.#interrupt = undefined;
  }

  #failed(error: Error): void {
    this.#open?.visible.fail(error);
    this.#resolveWaiters();
  }

  /** Waits until it is known whether the server has something to send. */
  #whenReplayed(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push(resolve);
      signal?.addEventListener("abort", () => resolve(), { once: true });
      this.#socket.open();
      if (this.#socket.isOpen) this.#pingUntilReplayed(PING_ROUNDS);
    });
  }

  #resolveWaiters(): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
  }
}
