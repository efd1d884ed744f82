import type { AutoSendMessage } from "../auto-send/should-auto-send.js";
import type { ChatHold, ChatId, Chunk, ToolCallId, ToolPart, ToolSpec } from "../protocol.js";
import { fetchHolds } from "../server/fetch-holds.js";
import { Server } from "../server/server.js";
import type { ServerOptions } from "../server/server-options.js";
import { acknowledge } from "./acknowledge.js";
import { ASK_USER, OpenPrompts } from "./open-prompts.js";
import { runAgain, runOnce } from "./ran-calls.js";
import type { FrontendCall, HandledCall, ToolHandlers } from "./tool-handler.js";
import { isSettled, nameOfTool, toolPartsOf } from "./tool-part.js";

/** The progress of one call. */
export type ToolProgress = FrontendCall & {
  state: "running" | "done" | "failed";
  /** For `failed`: the handler's error, or why the result did not reach the server. */
  error?: Error;
};

/** Options of a {@link FrontendToolExecutor}. */
export type FrontendToolExecutorOptions = ServerOptions & {
  /** The chat of the calls. */
  chatId: ChatId;
  /** The handlers of this page. A function is evaluated for every call, so that handlers may change. */
  handlers: ToolHandlers | (() => ToolHandlers);
  /**
   * Whether a call without a handler here should fail at once. Return true only if nobody else is expected to run it:
   * another tab or program may have a handler. Default: never, so the call waits for its deadline.
   */
  failsWithoutHandler?: ((call: FrontendCall) => boolean) | undefined;
  /** Called on every change of a call's progress. */
  onProgress?: ((progress: ToolProgress) => void) | undefined;
};

/** The result of a call in the browser. */
export type ToolResult = { output: unknown } | { error: Error };

/** How many calls are kept, for {@link FrontendToolExecutor.retry} and until the tools are known. */
const KEPT = 500;

/**
 * Runs the browser's own calls, each once, and sends their results to the server. A call that may need an approval runs
 * only when the server's record says that it waits for a browser.
 */
export class FrontendToolExecutor {
  readonly #options: FrontendToolExecutorOptions;
  readonly #server: Server;
  readonly #abort = new AbortController();
  readonly #seen = new Map<ToolCallId, { call: FrontendCall; isWaiting: boolean }>();
  readonly #prompts = new OpenPrompts();
  #tools: Map<string, ToolSpec> | undefined;
  #early: FrontendCall[] = [];
  #messages: readonly AutoSendMessage[] = [];
  #isReading = false;

  constructor(options: FrontendToolExecutorOptions) {
    this.#options = options;
    this.#server = new Server(options);
  }

  /** Sets the server's tools. Until they are known, only prompts of running tools are handled. */
  setTools(tools: readonly ToolSpec[]): void {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    for (const call of this.#early.splice(0)) this.#delegate(call);
  }

  /**
   * Scans the chat's messages and runs what may run now. Call it after every change; extra calls are harmless. `holds`
   * is the result of `fetchHolds`; if omitted, it is fetched when needed.
   */
  observe(messages: readonly AutoSendMessage[], holds?: readonly ChatHold[]): void {
    this.#messages = messages;
    for (const toolCallId of this.#prompts.calls) {
      const tool = this.#partOf(toolCallId);
      if (tool !== undefined && isSettled(tool)) this.#prompts.withdraw(toolCallId);
    }
    const last = messages.at(-1);
    const open = last?.role === "assistant" ? toolPartsOf(last).filter((tool) => this.#mayBeOwn(tool)) : [];
    for (const tool of open) {
      const name = nameOfTool(tool);
      const asksNobody = name === ASK_USER || this.#tools?.get(name)?.approval === "never";
      if (tool.state === "input-available" && asksNobody) this.#begin(callOf(tool));
    }
    if (holds !== undefined) this.#release(holds);
    else if (open.some(({ state }) => state === "input-available" || state === "approval-responded"))
      void this.#readHolds();
  }

  /** Handles a chunk: a delegated call runs when its chunk arrives, and never from the history. */
  observeChunk(chunk: Pick<Chunk, "type">): void {
    const { type, toolCallId, toolName, input } = chunk as { type: string } & Partial<FrontendCall>;
    if (type !== "tool-input-available" || !toolCallId || toolName === undefined) return;
    const call = { toolCallId, toolName, input };
    if (this.#tools !== undefined) this.#delegate(call);
    else if (this.#early.length < KEPT) this.#early.push(call);
  }

  /** Runs a call and acknowledges it. A call that already ran is not run again, and a call without an id is ignored. */
  async execute(call: FrontendCall): Promise<void> {
    if (call.toolCallId) await this.#start(call, true);
  }

  /** Sends a result that was produced elsewhere on the page. */
  async submitResult(call: FrontendCall, result: ToolResult): Promise<void> {
    await this.#deliver(call, result, new Date().toISOString());
  }

  /** Runs a call again, after a failure or a reload. If the call is settled, its result is not sent. */
  async retry(toolCallId: ToolCallId): Promise<void> {
    const tool = this.#partOf(toolCallId);
    const seen = this.#seen.get(toolCallId) ?? (tool && { call: callOf(tool), isWaiting: true });
    if (seen === undefined || !Object.hasOwn(this.#handlers, seen.call.toolName))
      throw new Error("This page has no handler for this call.");
    if (tool?.state === "approval-requested") throw new Error("This call is waiting for approval.");
    const isWaiting = seen.isWaiting && !(tool !== undefined && isSettled(tool));
    if (seen.call.toolName === ASK_USER) {
      this.#prompts.withdraw(toolCallId);
      await this.#start(seen.call, isWaiting);
    } else await runAgain(this.#key(toolCallId), () => this.#run(seen.call, isWaiting));
  }

  /** The user left this chat: withdraws open prompts. They are shown again on return. */
  withdrawPrompts(): void {
    for (const toolCallId of this.#prompts.calls) this.#prompts.withdraw(toolCallId);
  }

  /** Stops sending results that are not acknowledged yet. */
  close(): void {
    this.withdrawPrompts();
    this.#abort.abort();
  }

  get #handlers(): ToolHandlers {
    const { handlers } = this.#options;
    return typeof handlers === "function" ? handlers() : handlers;
  }

  /** Whether a call's tool runs in the browser. */
  #mayBeOwn(tool: ToolPart): boolean {
    const name = nameOfTool(tool);
    const isFrontend = name === ASK_USER || this.#tools?.get(name)?.execution === "frontend";
    return isFrontend && tool.toolCallId !== "" && tool.providerExecuted !== true;
  }

  /** Runs the calls that, by the server's record, wait for a browser. */
  #release(holds: readonly ChatHold[]): void {
    for (const { toolCallId, toolName, input, kind, state, cut } of holds) {
      if (kind === "frontend" && state === "waiting" && !cut) this.#begin({ toolCallId, toolName, input });
    }
  }

  async #readHolds(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      this.#release(await fetchHolds(this.#options.chatId, { ...this.#options, signal: this.#abort.signal }));
    } catch {
      // The next change of the messages retries.
    } finally {
      this.#isReading = false;
    }
  }

  /** Starts a call that waits for a browser, if this page is to run it. */
  #begin(call: FrontendCall): void {
    const isOurs = Object.hasOwn(this.#handlers, call.toolName) || this.#options.failsWithoutHandler?.(call);
    if (isOurs) void this.#start(call, true);
  }

  #delegate(call: FrontendCall): void {
    const isDelegate = this.#tools?.get(call.toolName)?.execution === "delegate";
    // The turn does not wait for it, so there is no result to send.
    if (isDelegate && Object.hasOwn(this.#handlers, call.toolName)) void this.#start(call, false);
  }

  #partOf(toolCallId: ToolCallId): ToolPart | undefined {
    return this.#messages.flatMap(toolPartsOf).find((part) => part.toolCallId === toolCallId);
  }

  #key(toolCallId: ToolCallId): string {
    return `${this.#server.url("")} ${toolCallId}`;
  }

  #start(call: FrontendCall, isWaiting: boolean): Promise<void> {
    this.#seen.set(call.toolCallId, { call, isWaiting });
    const [oldest] = this.#seen.keys();
    if (this.#seen.size > KEPT && oldest !== undefined) this.#seen.delete(oldest);
    if (call.toolName === ASK_USER)
      return this.#prompts.open(call.toolCallId, (signal) => this.#run(call, isWaiting, signal));
    return runOnce(this.#key(call.toolCallId), () => this.#run(call, isWaiting));
  }

  async #run(call: FrontendCall, isWaiting: boolean, signal?: AbortSignal): Promise<void> {
    this.#report(call, "running");
    const requestedAt = new Date().toISOString();
    const result = await this.#handle({ ...call, signal });
    // It was answered elsewhere meanwhile, or it expired.
    if (signal?.aborted) return this.#report(call, "done");
    if (isWaiting) return await this.#deliver(call, result, requestedAt);
    if ("error" in result) this.#report(call, "failed", result.error);
    else this.#report(call, "done");
  }

  async #handle(call: HandledCall): Promise<ToolResult> {
    try {
      const handler = Object.hasOwn(this.#handlers, call.toolName) ? this.#handlers[call.toolName] : undefined;
      if (handler === undefined) throw new Error(`This browser has no handler for the tool "${call.toolName}".`);
      return { output: await handler(call.input, call) };
    } catch (error) {
      return { error: asError(error) };
    }
  }

  async #deliver(call: FrontendCall, result: ToolResult, requestedAt: string): Promise<void> {
    const { toolCallId } = call;
    const outcome =
      "error" in result
        ? ({ status: "failed", errorText: result.error.message } as const)
        : ({ status: "success", output: result.output ?? null, errorText: null } as const);
    try {
      await acknowledge(this.#server, { toolCallId, ...outcome, requestedAt }, this.#abort.signal);
      if ("error" in result) this.#report(call, "failed", result.error);
      else this.#report(call, "done");
    } catch (error) {
      if (!this.#abort.signal.aborted) this.#report(call, "failed", asError(error));
    }
  }

  #report(call: FrontendCall, state: ToolProgress["state"], error?: Error): void {
    const { toolCallId, toolName, input } = call;
    this.#options.onProgress?.({ toolCallId, toolName, input, state, ...(error !== undefined && { error }) });
  }
}

function callOf(tool: ToolPart): FrontendCall {
  return { toolCallId: tool.toolCallId, toolName: nameOfTool(tool), input: tool.input };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
