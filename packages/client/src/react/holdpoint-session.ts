import { type ChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from "ai";
import { type AutoSend, sendAutomaticallyWhen } from "../auto-send/send-automatically-when.js";
import type { ChatHold, Chunk, MessageId, ToolCallId, ToolSpec } from "../protocol.js";
import { Approvals } from "../server/approvals.js";
import { createHoldpoint } from "../server/holdpoint.js";
import { asHoldpointError, type HoldpointError } from "../server/holdpoint-error.js";
import { Listeners } from "../server/listeners.js";
import { retryUntilResponse } from "../server/retry-until-response.js";
import { Server } from "../server/server.js";
import { type EditedInputs, editedInputOf } from "../tools/edited-inputs.js";
import { FrontendToolExecutor, type ToolProgress } from "../tools/frontend-tool-executor.js";
import type { FrontendCall, ToolHandlers } from "../tools/tool-handler.js";
import { LiveChatTransport } from "../transport/live-chat-transport.js";
import type { LiveConnection } from "../transport/live-connection.js";
import { type FailedAt, watchTransport } from "../transport/watch-transport.js";
import { createTransport, type TransportOptions } from "./create-transport.js";
import type { StopProgress } from "./use-holdpoint.js";
import type { HoldpointMode } from "./use-holdpoint-options.js";

/** How far the chat's stored messages have been read. */
export type HistoryStatus =
  /** They are being read. While the server does not respond, that is retried. */
  | { state: "loading"; error?: undefined }
  /** They are shown, or there is nothing to read: the chat is new, or `history` is `false`. */
  | { state: "loaded"; error?: undefined }
  /** The server refused. `retry` reads again, and so does every event. */
  | { state: "failed"; error: HoldpointError };

/** Session state other than the messages. */
export type SessionState = {
  connection: LiveConnection | undefined;
  tools: ToolSpec[] | undefined;
  toolRuns: Readonly<Record<ToolCallId, ToolProgress>>;
  holds: ChatHold[] | undefined;
  /** Inputs that approvers have changed, until the record shows them. */
  editedInputs: EditedInputs;
  history: HistoryStatus;
  unsent: readonly MessageId[];
  stopping: StopProgress | undefined;
  /** Incremented when something arrives that no stream reads. */
  unread: number;
};

/** Values that a session reads each time, since they may change between renders. */
export type SessionCallbacks = {
  handlers: () => ToolHandlers | undefined;
  onChunk: (chunk: Chunk | "[DONE]") => void;
  /** Whether the application knows that the chat is new. */
  isNew: () => boolean;
};

/** One chat in one mode: its transport, auto-send and tools. */
export class HoldpointSession<UI_MESSAGE extends UIMessage> {
  readonly transport: ChatTransport<UI_MESSAGE>;
  /** Set in `live` mode only. */
  readonly live: LiveChatTransport<UI_MESSAGE> | undefined;
  readonly executor: FrontendToolExecutor;
  /** Set in the adk profile only. */
  readonly autoSend: AutoSend | undefined;
  readonly approvals: Approvals;
  readonly server: Server;
  /** Whether the server has this chat. If not, its record is not requested. */
  isStored: boolean;
  /** Called for chunks that may change the holds, and for streams that this page did not request. */
  onOutdated: (() => void) | undefined;
  readonly #options: TransportOptions;
  readonly #callbacks: SessionCallbacks;
  readonly #inner: ChatTransport<UI_MESSAGE>;
  readonly #listeners = new Listeners();
  readonly #idle = new Listeners();
  readonly #sent = new Set<MessageId>();
  #messages: readonly UI_MESSAGE[] = [];
  #pending: MessageId | undefined;
  #failure: FailedAt | undefined;
  #failures = 0;
  #requests = 0;
  #open = 0;
  #isOwnRequest = false;
  #status: number | undefined;
  #state: SessionState;

  constructor(mode: HoldpointMode, options: TransportOptions, callbacks: SessionCallbacks) {
    this.#options = options;
    this.#callbacks = callbacks;
    this.isStored = !callbacks.isNew();
    this.server = new Server(options);
    this.approvals = new Approvals(this.server);
    const transport = createTransport<UI_MESSAGE>(mode, {
      ...options,
      fetch: async (input, init) => {
        const response = await (options.fetch ?? fetch)(input, init);
        this.#status = response.status;
        return response;
      },
      onChunk: (chunk) => {
        // No stream may be reading.
        if (chunk !== "[DONE]") this.#noteEdit(chunk);
        callbacks.onChunk(chunk);
      },
      onConnection: (connection) => this.set({ connection }),
      onUnread: () => this.set({ unread: this.#state.unread + 1 }),
    });
    this.#inner = transport;
    this.live = transport instanceof LiveChatTransport ? transport : undefined;
    this.#state = {
      connection: this.live?.connection,
      tools: undefined,
      toolRuns: {},
      holds: undefined,
      editedInputs: {},
      history: { state: this.isStored ? "loading" : "loaded" },
      unsent: [],
      stopping: undefined,
      unread: 0,
    };
    this.executor = new FrontendToolExecutor({
      ...options,
      handlers: () => callbacks.handlers() ?? {},
      failsWithoutHandler: (call) => this.#shouldRun(call),
      onProgress: (progress) => this.set({ toolRuns: { ...this.#state.toolRuns, [progress.toolCallId]: progress } }),
    });
    // Every result of this browser is acknowledged, so none is the client's to send.
    this.autoSend = mode === "sse" || mode === "live" ? sendAutomaticallyWhen({ frontendTools: [] }) : undefined;
    this.transport = watchTransport<UI_MESSAGE>(transport, {
      mapError: (error) => asHoldpointError(error, "connection-lost"),
      onRequest: ({ messages, trigger }) => this.#requested(messages, trigger),
      onChunk: (chunk) => this.#received(chunk as Chunk),
      onFailure: (_, at) => this.#failed(at === "request" && this.#isPermanent ? "server" : at),
      onBegin: () => {
        this.#requests++;
        this.#open++;
        this.#status = undefined;
      },
      onEnd: () => {
        this.#open--;
        if (this.isBusy) return;
        this.#isOwnRequest = false;
        this.#idle.call();
      },
    });
  }

  /** `sendAutomaticallyWhen` for `useChat`, by profile. It requests the continuation once decisions are in force. */
  readonly shouldSend = ({ messages }: { messages: UI_MESSAGE[] }): boolean =>
    this.autoSend?.({ messages }) ?? lastAssistantMessageIsCompleteWithApprovalResponses({ messages });

  readonly subscribe = (listener: () => void): (() => void) => this.#listeners.add(listener);

  readonly getState = (): SessionState => this.#state;

  /** The number of requests so far. Anything read before the last one is outdated. */
  get requests(): number {
    return this.#requests;
  }

  /** Whether a request is in flight. React's state lags slightly behind. */
  get isBusy(): boolean {
    return this.#open > 0;
  }

  /** Whether the stream being read was resumed: another tab may have requested it. */
  get isResuming(): boolean {
    return this.isBusy && !this.#isOwnRequest;
  }

  /** Calls back whenever the last request in flight ends, until the returned function is called. */
  onIdle(listener: () => void): () => void {
    return this.#idle.add(listener);
  }

  /** Waits until no request is in flight, or the time limit passes. */
  async whenIdle(limitMs: number): Promise<void> {
    if (!this.isBusy) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        remove();
        resolve();
      };
      const timer = setTimeout(done, limitMs);
      const remove = this.#idle.add(done);
    });
  }

  /** The number of consecutive failed requests. */
  get failures(): number {
    return this.#failures;
  }

  /**
   * Whether the last request was lost, so that only the record shows its outcome. An error that the server sent is
   * final.
   */
  get lastRequestLost(): boolean {
    return this.#failure === "request" || this.#failure === "response";
  }

  set(change: Partial<SessionState>): void {
    this.#state = { ...this.#state, ...change };
    this.#listeners.call();
  }

  /** A call runs with another input than the one that the model gave. */
  setInput(toolCallId: ToolCallId, input: unknown): void {
    this.set({ editedInputs: { ...this.#state.editedInputs, [toolCallId]: input } });
  }

  /** The stored messages were read, or the server refused. */
  setHistory(history: HistoryStatus): void {
    if (history.state !== "loaded" || this.#state.history.state !== "loaded") this.set({ history });
  }

  /** Starts the session. The returned function ends it and leaves the turn running on the server. */
  start(): () => void {
    const abort = new AbortController();
    void this.#loadTools(abort.signal);
    return () => {
      abort.abort();
      this.executor.leave();
      (this.#inner as { close?: () => void }).close?.();
    };
  }

  /** Runs the calls that may run in this browser. */
  observe(messages: readonly UI_MESSAGE[]): void {
    this.#messages = messages;
    this.executor.observe(messages, this.#state.holds ?? []);
  }

  /** Marks messages as stored by the server: they are no longer unsent. */
  markStored(ids: ReadonlySet<MessageId>): void {
    const unsent = this.#state.unsent.filter((id) => !ids.has(id));
    if (unsent.length < this.#state.unsent.length) this.set({ unsent });
  }

  #requested(messages: readonly UI_MESSAGE[], trigger: string): void {
    this.#isOwnRequest = true;
    this.#failure = undefined;
    const last = messages.at(-1);
    this.#pending = trigger === "submit-message" && last?.role === "user" ? last.id : undefined;
    if (this.#pending === undefined) return;
    this.#sent.add(this.#pending);
    this.markStored(new Set([this.#pending]));
  }

  #received(chunk: Chunk): void {
    if (this.live === undefined) this.#callbacks.onChunk(chunk);
    if (chunk.type !== "error") {
      this.#pending = undefined;
      this.isStored = true;
    }
    if (chunk.type === "finish") this.#failures = 0;
    this.autoSend?.observe(chunk as Parameters<AutoSend["observe"]>[0]);
    this.executor.observeChunk(chunk);
    this.#noteEdit(chunk);
    const isTool = chunk.type.startsWith("tool-") && !chunk.type.endsWith("-delta");
    if (isTool || (chunk.type === "start" && this.isResuming)) this.onOutdated?.();
  }

  #noteEdit(chunk: Chunk): void {
    const edited = editedInputOf(chunk);
    if (edited !== undefined) this.setInput(edited.toolCallId, edited.input);
  }

  /**
   * Whether the server refused for good, so that a retry gets the same response. After a 409 the record is
   * authoritative.
   */
  get #isPermanent(): boolean {
    const status = this.#status ?? 0;
    return status >= 400 && status < 500 && status !== 409 && status !== 429;
  }

  #failed(at: FailedAt): void {
    this.#failure = at;
    this.#failures++;
    this.autoSend?.requestFailed();
    if (at !== "server") this.server.reachability.suspect();
    if (this.#pending !== undefined) this.set({ unsent: [...this.#state.unsent, this.#pending] });
    this.#pending = undefined;
  }

  /**
   * Whether this page is expected to run a call: it has handlers, and it started the turn or approved the call. Another
   * page may have handlers that this one lacks.
   */
  #shouldRun({ toolCallId }: FrontendCall): boolean {
    if (this.#callbacks.handlers() === undefined) return false;
    const asked = this.#messages.findLast(({ role }) => role === "user");
    if (asked !== undefined && this.#sent.has(asked.id)) return true;
    const approvalId = this.#state.holds?.find((hold) => hold.toolCallId === toolCallId)?.approvalId;
    return approvalId !== undefined && this.approvals.getDecisions()[approvalId]?.state === "in-force";
  }

  async #loadTools(signal: AbortSignal): Promise<void> {
    try {
      const tools = await retryUntilResponse(
        this.server,
        (attempt) => createHoldpoint(this.server.options).tools({ chatId: this.#options.chatId, signal: attempt }),
        { signal },
      );
      this.executor.setTools(tools);
      this.set({ tools });
    } catch {
      // Refused: the chat itself reports the reason.
    }
  }
}
