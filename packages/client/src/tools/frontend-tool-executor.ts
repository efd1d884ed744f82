import type { AutoSendMessage } from "../auto-send/should-auto-send.js";
import type { ChatHold, ChatId, Chunk, ToolCallId, ToolPart, ToolSpec, ToolState } from "../protocol.js";
import { followRecord } from "../server/follow-record.js";
import { type ClientOrOptions, withServerOptions } from "../server/holdpoint.js";
import { Holds } from "../server/holds.js";
import { Server } from "../server/server.js";
import { acknowledge } from "./acknowledge.js";
import { ASK_USER } from "./ask-user.js";
import { type RunEnd, runAgain, runOnce } from "./ran-calls.js";
import { RunningCall } from "./running-call.js";
import type { FrontendCall, HandledCall, ToolHandlers } from "./tool-handler.js";
import { isSettled, nameOfTool, toolPartsOf } from "./tool-part.js";

/** The progress of one call. */
export type ToolProgress = FrontendCall & {
  state: "running" | "done" | "failed";
  /** For `failed`: the handler's error, or why the result did not reach the server. */
  error?: Error;
};

/** Options of a {@link FrontendToolExecutor}. */
export type FrontendToolExecutorOptions = ClientOrOptions & {
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
  readonly #running = new Map<ToolCallId, RunningCall>();
  /** The calls that the server's record has had, also before they ran here: while they waited for an approval. */
  readonly #held = new Set<ToolCallId>();
  /**
   * The prompts that were opened here. Unlike other calls they are shown in every tab, since the user may be looking at any
   * of them. The first answer counts, and the other tabs withdraw theirs.
   */
  readonly #prompts = new Map<ToolCallId, Promise<RunEnd>>();
  #tools: Map<string, ToolSpec> | undefined;
  #early: FrontendCall[] = [];
  #messages: readonly AutoSendMessage[] = [];
  /** Whether the application reads the holds. If not, they are followed here, while a call waits. */
  #areHoldsGiven = false;
  #following: { waiting: string; record: ReturnType<typeof followRecord> } | undefined;
  /** The calls that wait, as last seen in the messages. */
  #waiting = "";
  #isLeft = false;

  constructor(options: FrontendToolExecutorOptions) {
    this.#options = options;
    this.#server = new Server(withServerOptions(options));
  }

  /** Sets the server's tools. Until they are known, only prompts of running tools are handled. */
  setTools(tools: readonly ToolSpec[]): void {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    for (const call of this.#early.splice(0)) this.#delegate(call);
  }

  /**
   * Scans the chat's messages, runs what may run now, and aborts what is over. Call it after every change; extra calls are
   * harmless. Without `holds`, the result of `holds.ofChat`, the server's record is followed here for as long as a call waits.
   */
  observe(messages: readonly AutoSendMessage[], holds?: readonly ChatHold[]): void {
    if (this.#abort.signal.aborted) return;
    this.#messages = messages;
    this.#isLeft = false;
    this.#areHoldsGiven = holds !== undefined;
    this.#endSettled();
    const last = messages.at(-1);
    const open = last?.role === "assistant" ? toolPartsOf(last).filter((tool) => this.#mayBeOwn(tool)) : [];
    for (const tool of open) {
      const name = nameOfTool(tool);
      const asksNobody = name === ASK_USER || this.#tools?.get(name)?.approval === "never";
      if (tool.state === "input-available" && asksNobody) this.#begin(callOf(tool));
    }
    if (holds !== undefined) this.#read(holds);
    const waiting = open.filter(({ state }) => WAITING.has(state));
    this.#waiting = waiting.map(({ toolCallId, state }) => `${toolCallId} ${state}`).join();
    this.#follow();
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
    this.#end(toolCallId);
    if (seen.call.toolName === ASK_USER) await this.#start(seen.call, isWaiting);
    else await runAgain(this.#key(toolCallId), () => this.#run(seen.call, isWaiting));
  }

  /**
   * The user left this chat: aborts the handlers. What has no result by then runs again on return, with the next `observe`;
   * a prompt is shown again.
   */
  leave(): void {
    this.#isLeft = true;
    for (const [toolCallId, running] of this.#running) {
      if (running.call.toolName === ASK_USER) this.#end(toolCallId);
      else running.leave();
    }
    this.#prompts.clear();
    this.#unfollow();
  }

  /** Ends everything: aborts the handlers, and stops sending results that are not acknowledged yet. */
  close(): void {
    this.leave();
    for (const toolCallId of this.#running.keys()) this.#end(toolCallId);
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

  /** Takes in the server's record: aborts the calls that are over, and runs those that wait for a browser. */
  #read(holds: readonly ChatHold[]): void {
    const records = new Map(holds.map((hold) => [hold.toolCallId, hold]));
    for (const [toolCallId, running] of this.#running) {
      const record = records.get(toolCallId);
      // A call that is no longer in the record was deleted with its chat.
      const isOver = record === undefined ? this.#held.has(toolCallId) : record.state === "settled" || record.cut;
      if (isOver && running.isWaiting) this.#end(toolCallId);
    }
    for (const toolCallId of records.keys()) this.#held.add(toolCallId);
    for (const { toolCallId, toolName, input, kind, state, cut } of holds) {
      if (kind === "frontend" && state === "waiting" && !cut) this.#begin({ toolCallId, toolName, input });
    }
  }

  /** Aborts what has an outcome in the messages, or was replaced by a newer message. */
  #endSettled(): void {
    for (const toolCallId of [...this.#prompts.keys(), ...this.#running.keys()]) {
      const running = this.#running.get(toolCallId);
      if (running?.isWaiting === false) continue;
      const message = this.#messages.find((each) => toolPartsOf(each).some((tool) => tool.toolCallId === toolCallId));
      const tool = this.#partOf(toolCallId);
      if (tool !== undefined && isSettled(tool)) this.#end(toolCallId);
      if (running === undefined) continue;
      running.messageId = idOf(message) ?? running.messageId;
      const last = this.#messages.at(-1);
      // The message itself may be incomplete: when a stream is resumed, it is written anew.
      const isReplaced = last?.role === "assistant" && (idOf(last) ?? running.messageId) !== running.messageId;
      if (isReplaced && running.messageId !== undefined) this.#end(toolCallId);
    }
  }

  #end(toolCallId: ToolCallId): void {
    this.#running.get(toolCallId)?.end();
    this.#running.delete(toolCallId);
    this.#prompts.delete(toolCallId);
  }

  /** Follows the server's record while a call waits: for its approval, for this browser, or for its handler. */
  #follow(): void {
    const runs = [...this.#running.values()].filter(({ isWaiting }) => isWaiting);
    const waiting = [this.#waiting, ...runs.map(({ call }) => call.toolCallId)].join();
    const isNeeded = !this.#areHoldsGiven && !this.#isLeft && !this.#abort.signal.aborted && waiting !== "";
    if (!isNeeded) this.#unfollow();
    if (!isNeeded || this.#following?.waiting === waiting) return;
    const { chatId } = this.#options;
    const following =
      this.#following?.record ??
      followRecord<ChatHold[]>(this.#server, {
        read: (signal) => new Holds(this.#server).ofChat(chatId, { signal }),
        isTouchedBy: (event) => "chatId" in event && event.chatId === chatId,
        onValue: (holds) => this.#read(holds),
      });
    this.#following = { waiting, record: following };
    following.refresh();
  }

  #unfollow(): void {
    this.#following?.record.stop();
    this.#following = undefined;
  }

  /** Starts a call that waits for a browser, if this page is to run it. */
  #begin(call: FrontendCall): void {
    const tool = this.#partOf(call.toolCallId);
    // What was read of the record may be older than the messages.
    if (tool !== undefined && isSettled(tool)) return;
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

  async #start(call: FrontendCall, isWaiting: boolean): Promise<void> {
    const { toolCallId } = call;
    this.#seen.set(toolCallId, { call, isWaiting });
    const [oldest] = this.#seen.keys();
    if (this.#seen.size > KEPT && oldest !== undefined) this.#seen.delete(oldest);
    if (call.toolName === ASK_USER) {
      const prompt = this.#prompts.get(toolCallId) ?? this.#run(call, isWaiting);
      this.#prompts.set(toolCallId, prompt);
      await prompt;
      return;
    }
    const end = await runOnce(this.#key(toolCallId), () => this.#run(call, isWaiting));
    // The page that ran it was left, perhaps for this one, or has come back since.
    if (end === "withdrawn" && isWaiting && !this.#isLeft && !this.#abort.signal.aborted) this.#begin(call);
  }

  async #run(call: FrontendCall, isWaiting: boolean): Promise<RunEnd> {
    const running = new RunningCall(call, isWaiting);
    this.#running.set(call.toolCallId, running);
    this.#endSettled();
    this.#follow();
    try {
      return await this.#work(running);
    } finally {
      if (this.#running.get(call.toolCallId) === running) this.#running.delete(call.toolCallId);
      this.#follow();
    }
  }

  async #work(running: RunningCall): Promise<RunEnd> {
    const { call, isWaiting, signal } = running;
    if (running.isOver) return "ended";
    this.#report(call, "running");
    const requestedAt = new Date().toISOString();
    const result = await Promise.race([this.#handle({ ...call, signal }), running.over]);
    const isWithdrawn = signal.aborted && result !== undefined && "error" in result;
    if (running.isOver || result === undefined || isWithdrawn) {
      this.#report(call, "done");
      return isWithdrawn && !running.isOver ? "withdrawn" : "ended";
    }
    if (isWaiting) await this.#deliver(call, result, requestedAt);
    else if ("error" in result) this.#report(call, "failed", result.error);
    else this.#report(call, "done");
    return "ended";
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

/** The states in which a call of this browser may wait for something. */
const WAITING: ReadonlySet<ToolState> = new Set(["input-available", "approval-requested", "approval-responded"]);

function idOf(message: AutoSendMessage | undefined): string | undefined {
  const { id } = (message ?? {}) as { id?: unknown };
  return typeof id === "string" ? id : undefined;
}

function callOf(tool: ToolPart): FrontendCall {
  return { toolCallId: tool.toolCallId, toolName: nameOfTool(tool), input: tool.input };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
