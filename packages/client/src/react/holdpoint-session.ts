import {
  type ChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from "ai";
import { type AutoSend, sendAutomaticallyWhen } from "../auto-send/send-automatically-when.js";
import type { Chunk, ToolCallId } from "../protocol.js";
import { Backoff } from "../server/backoff.js";
import { fetchTools } from "../server/fetch-tools.js";
import type { ToolSpec } from "../server/tool-spec.js";
import { FrontendToolExecutor, type ToolReport } from "../tools/frontend-tool-executor.js";
import { ASK_USER } from "../tools/open-questions.js";
import type { ToolHandlers } from "../tools/tool-handler.js";
import { LiveChatTransport } from "../transport/live-chat-transport.js";
import type { LiveConnection } from "../transport/live-connection.js";
import { watchTransport } from "../transport/watch-transport.js";
import { createTransport, type TransportOptions } from "./create-transport.js";
import type { HoldpointMode } from "./use-holdpoint.js";

/** What changes besides the messages. */
export type SessionState = {
  connection: LiveConnection | undefined;
  tools: ToolSpec[] | undefined;
  toolRuns: Readonly<Record<ToolCallId, ToolReport>>;
  /** Grows when something came that nobody reads. */
  unread: number;
};

/** What a session asks for anew every time, since it may change from one rendering to the next. */
export type SessionCallbacks = {
  handlers: () => ToolHandlers;
  onChunk: (chunk: Chunk | "[DONE]") => void;
};

/** One chat in one mode: its transport, its auto-send and its tools, put together. */
export class HoldpointSession<UI_MESSAGE extends UIMessage> {
  readonly transport: ChatTransport<UI_MESSAGE>;
  /** Only in the mode `live`. */
  readonly live: LiveChatTransport<UI_MESSAGE> | undefined;
  readonly executor: FrontendToolExecutor;
  /** Only in the adk profile. */
  readonly autoSend: AutoSend | undefined;
  readonly #options: TransportOptions;
  readonly #inner: ChatTransport<UI_MESSAGE>;
  readonly #listeners = new Set<() => void>();
  #state: SessionState;

  constructor(mode: HoldpointMode, options: TransportOptions, callbacks: SessionCallbacks) {
    this.#options = options;
    const isAdk = mode === "sse" || mode === "live";
    const transport = createTransport<UI_MESSAGE>(mode, {
      ...options,
      onChunk: callbacks.onChunk,
      onConnection: (connection) => this.#set({ connection }),
      onUnread: () => this.#set({ unread: this.#state.unread + 1 }),
    });
    this.#inner = transport;
    this.live = transport instanceof LiveChatTransport ? transport : undefined;
    this.#state = { connection: this.live?.connection, tools: undefined, toolRuns: {}, unread: 0 };
    this.executor = new FrontendToolExecutor({
      ...options,
      profile: isAdk ? "adk" : "ai-sdk",
      handlers: callbacks.handlers,
      onReport: (report) => this.#set({ toolRuns: { ...this.#state.toolRuns, [report.toolCallId]: report } }),
    });
    // Until the server has said which tools are the browser's, those with a handler are. An answer to a running tool is never one
    // that the client sends: it is acknowledged while the response is open.
    const frontendTools = Object.keys(callbacks.handlers()).filter((name) => name !== ASK_USER);
    this.autoSend = isAdk ? sendAutomaticallyWhen({ frontendTools }) : undefined;
    this.transport = watchTransport<UI_MESSAGE>(transport, {
      onChunk: (chunk) => {
        if (this.live === undefined) callbacks.onChunk(chunk as Chunk);
        this.autoSend?.observe(chunk as Chunk);
        this.executor.observeChunk(chunk as Chunk);
      },
      onFailure: () => this.autoSend?.requestFailed(),
    });
  }

  /** `sendAutomaticallyWhen` of `useChat`: the profile's own. */
  readonly shouldSend = ({ messages }: { messages: UI_MESSAGE[] }): boolean =>
    this.autoSend?.({ messages }) ??
    (lastAssistantMessageIsCompleteWithApprovalResponses({ messages }) ||
      lastAssistantMessageIsCompleteWithToolCalls({ messages }));

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly getState = (): SessionState => this.#state;

  /** Begins; the returned function ends it, and leaves the turn to the server. */
  start(): () => void {
    const abort = new AbortController();
    void this.#learnTools(abort.signal);
    return () => {
      abort.abort();
      this.executor.leave();
      (this.#inner as { close?: () => void }).close?.();
    };
  }

  async #learnTools(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff();
    while (!signal.aborted && this.#state.tools === undefined) {
      try {
        const tools = await fetchTools({ ...this.#options, signal });
        this.executor.setTools(tools);
        this.autoSend?.setFrontendTools(tools.filter((tool) => tool.execution === "frontend").map((tool) => tool.name));
        this.#set({ tools });
      } catch {
        // A server that can't be reached is seen where the chat is; here it is only asked again.
        await backoff.pause(signal);
      }
    }
  }

  #set(change: Partial<SessionState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}
