import type { DecidableMessage } from "../auto-send/decide.js";
import type { ChatId, Chunk, ToolCallId, ToolPart } from "../protocol.js";
import { ApprovalsClient } from "../server/approvals-client.js";
import { Server } from "../server/server.js";
import type { ServerOptions } from "../server/server-options.js";
import type { ToolSpec } from "../server/tool-spec.js";
import { acknowledge } from "./acknowledge.js";
import { isReleased } from "./is-released.js";
import { ASK_USER, OpenQuestions } from "./open-questions.js";
import { runAgain, runOnce } from "./ran-calls.js";
import type { FrontendCall, HandledCall, ToolHandlers } from "./tool-handler.js";
import { nameOfTool, toolPartOf } from "./tool-part.js";

/** How one call goes. */
export type ToolReport = FrontendCall & {
  state: "running" | "done" | "failed";
  /** For `failed`: that the handler failed, or that its result did not reach the server. */
  error?: Error;
};

/** Options of a {@link FrontendToolExecutor}. */
export type FrontendToolExecutorOptions = ServerOptions & {
  /** The chat of the calls. Without it, a call whose approval was given before a reload is not run. */
  chatId?: ChatId | undefined;
  /** `adk`: an approved call's result goes out with its approval, by `addToolOutput`. `ai-sdk`: every result is acknowledged. */
  profile: "adk" | "ai-sdk";
  /** What runs here. A function is asked at every call, so that handlers may change. */
  handlers: ToolHandlers | (() => ToolHandlers);
  /** How each call goes. */
  onReport?: ((report: ToolReport) => void) | undefined;
};

/** How a result is put into the chat: `addToolOutput` of `useChat`. */
export type AddToolOutput = (
  result:
    | { tool: string; toolCallId: ToolCallId; output: unknown }
    | { tool: string; toolCallId: ToolCallId; state: "output-error"; errorText: string },
) => void | PromiseLike<void>;

type Result = { output: unknown } | { error: Error };
/** Takes a result to where it belongs. */
type Deliver = (call: FrontendCall, result: Result, requestedAt: string) => Promise<void>;

/** How long a call whose tool asks only sometimes is given to be asked about, before the inbox is looked at. */
const ASKING_MS = 300;
/** How many calls are kept for {@link FrontendToolExecutor.retry}, or until the tools are known. */
const KEPT = 500;

/** Runs the calls that are the browser's own, each once, and tells the server how they went. */
export class FrontendToolExecutor {
  readonly #options: FrontendToolExecutorOptions;
  readonly #server: Server;
  readonly #inbox: ApprovalsClient;
  readonly #life = new AbortController();
  readonly #seen = new Map<ToolCallId, { call: FrontendCall; deliver: Deliver }>();
  readonly #checking = new Set<ToolCallId>();
  readonly #questions = new OpenQuestions();
  #tools: Map<string, ToolSpec> | undefined;
  #early: FrontendCall[] = [];
  #latest: { messages: readonly DecidableMessage[]; addToolOutput: AddToolOutput } | undefined;

  constructor(options: FrontendToolExecutorOptions) {
    this.#options = options;
    this.#server = new Server(options);
    this.#inbox = new ApprovalsClient(options);
  }

  /** The server's tools. Before they are known nothing runs by itself, but for the questions of a running tool. */
  setTools(tools: readonly ToolSpec[]): void {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    for (const call of this.#early.splice(0)) this.#delegate(call);
  }

  /** Looks at the chat's messages and runs what may run now. Call it after every change; calling it too often is harmless. */
  observe(messages: readonly DecidableMessage[], addToolOutput: AddToolOutput): void {
    this.#latest = { messages, addToolOutput };
    for (const toolCallId of this.#questions.calls) {
      if (this.#partOf(toolCallId)?.state.startsWith("output-")) this.#questions.takeBack(toolCallId);
    }
    const last = messages.at(-1);
    if (last?.role !== "assistant") return;
    for (const part of last.parts) {
      const tool = toolPartOf(part);
      if (tool === undefined || !this.isOwn(tool)) continue;
      const call = callOf(tool);
      if (tool.state === "approval-responded" && tool.approval?.approved === true) {
        // The SDK does one thing after the other: the output is added after the approval that is in this state already, and
        // both go out together. An acknowledgement that is faster than its approval is refused and sent again.
        this.#start(call, this.#answering(addToolOutput));
      } else if (tool.state === "input-available") {
        const { approval } = this.#tools?.get(call.toolName) ?? {};
        if (call.toolName === ASK_USER || approval === "never") this.#start(call, this.#acknowledging);
        else void this.#startIfReleased(call);
      }
    }
  }

  /** Looks at a chunk: a delegated call is run when it comes, and never because it is in the history. */
  observeChunk(chunk: Pick<Chunk, "type">): void {
    const { type, toolCallId, toolName, input } = chunk as { type: string } & Partial<FrontendCall>;
    if (type !== "tool-input-available" || !toolCallId || toolName === undefined) return;
    const call = { toolCallId, toolName, input };
    if (this.#tools !== undefined) this.#delegate(call);
    else if (this.#early.length < KEPT) this.#early.push(call);
  }

  /** Runs a call and acknowledges it; a call that ran before is not run again, and one without an id not at all. */
  async execute(call: FrontendCall): Promise<void> {
    if (call.toolCallId) await this.#start(call, this.#acknowledging);
  }

  /** Runs a call once more: the way back after a failure, or after a reload. One that is settled is only run, not delivered. */
  async retry(toolCallId: ToolCallId): Promise<void> {
    const seen = this.#seen.get(toolCallId) ?? this.#find(toolCallId);
    if (seen === undefined) throw new Error("This call is not one of this browser's, so it can't be run here.");
    if (seen.call.toolName === ASK_USER) {
      this.#questions.takeBack(toolCallId);
      await this.#start(seen.call, seen.deliver);
    } else await runAgain(this.#key(toolCallId), () => this.#run(seen.call, seen.deliver));
  }

  /** Whether a call is for this browser to run: its tool is a frontend's, and there is a handler for it. */
  isOwn(tool: ToolPart): boolean {
    const name = nameOfTool(tool);
    const isFrontend = name === ASK_USER || this.#tools?.get(name)?.execution === "frontend";
    return (
      isFrontend && Boolean(tool.toolCallId) && tool.providerExecuted !== true && Object.hasOwn(this.#handlers, name)
    );
  }

  /** Nobody looks at this chat any more: takes open questions back. Whoever comes again is asked again. */
  leave(): void {
    for (const toolCallId of this.#questions.calls) this.#questions.takeBack(toolCallId);
  }

  /** Gives up what is not acknowledged yet. */
  close(): void {
    this.leave();
    this.#life.abort();
  }

  get #handlers(): ToolHandlers {
    const { handlers } = this.#options;
    return typeof handlers === "function" ? handlers() : handlers;
  }

  /** A call of an earlier page, in the messages. */
  #find(toolCallId: ToolCallId): { call: FrontendCall; deliver: Deliver } | undefined {
    const tool = this.#partOf(toolCallId);
    const { addToolOutput } = this.#latest ?? {};
    if (tool === undefined || addToolOutput === undefined || !Object.hasOwn(this.#handlers, nameOfTool(tool)))
      return undefined;
    if (tool.state === "approval-requested") throw new Error("This call waits for its approval.");
    const deliver = tool.state === "input-available" ? this.#acknowledging : this.#answering(addToolOutput);
    return { call: callOf(tool), deliver: tool.state.startsWith("output-") ? async () => {} : deliver };
  }

  /** For an approved call. */
  #answering(addToolOutput: AddToolOutput): Deliver {
    return this.#options.profile === "adk" ? adding(addToolOutput) : this.#acknowledging;
  }

  #delegate(call: FrontendCall): void {
    const isDelegate = this.#tools?.get(call.toolName)?.execution === "delegate";
    // Nobody waits for it: there is nothing to deliver.
    if (isDelegate && Object.hasOwn(this.#handlers, call.toolName)) void this.#start(call, async () => {});
  }

  /**
   * A call that may have been asked about, and is not here: its question is on its way, or a rule did not ask, or it was answered before
   * a reload. Only the server knows.
   */
  async #startIfReleased(call: FrontendCall): Promise<void> {
    const { chatId } = this.#options;
    const { toolCallId, toolName } = call;
    if (this.#checking.has(toolCallId)) return;
    this.#checking.add(toolCallId);
    try {
      await new Promise((resolve) => setTimeout(resolve, ASKING_MS));
      if (this.#partOf(toolCallId)?.state !== "input-available") return;
      if (chatId !== undefined) {
        if (!(await isReleased({ chatId, toolCallId }, this.#options))) return;
      } else {
        const asked = await this.#inbox.list(this.#life.signal);
        if (this.#tools?.get(toolName)?.approval === "always" || asked.some((open) => open.toolCallId === toolCallId))
          return;
      }
      await this.#start(call, this.#acknowledging);
    } catch (error) {
      if (!this.#life.signal.aborted) this.#options.onReport?.({ ...call, state: "failed", error: asError(error) });
    } finally {
      // The next change of the messages may ask again.
      this.#checking.delete(toolCallId);
    }
  }

  #partOf(toolCallId: ToolCallId): ToolPart | undefined {
    const messages = this.#latest?.messages ?? [];
    const parts = messages.flatMap((message): readonly { type: string }[] => message.parts);
    return parts.map(toolPartOf).find((part) => part?.toolCallId === toolCallId);
  }

  #key(toolCallId: ToolCallId): string {
    return `${this.#server.url("")} ${toolCallId}`;
  }

  #start(call: FrontendCall, deliver: Deliver): Promise<void> {
    this.#seen.set(call.toolCallId, { call, deliver });
    const [oldest] = this.#seen.keys();
    if (this.#seen.size > KEPT && oldest !== undefined) this.#seen.delete(oldest);
    if (call.toolName === ASK_USER)
      return this.#questions.ask(call.toolCallId, (signal) => this.#run(call, deliver, signal));
    return runOnce(this.#key(call.toolCallId), () => this.#run(call, deliver));
  }

  async #run(call: FrontendCall, deliver: Deliver, signal?: AbortSignal): Promise<void> {
    const report = (state: ToolReport["state"], error?: Error) =>
      this.#options.onReport?.({ ...call, state, ...(error !== undefined && { error }) });
    report("running");
    const requestedAt = new Date().toISOString();
    const result = await this.#handle({ ...call, signal });
    // Somebody else has answered meanwhile, or time has.
    if (signal?.aborted) return report("done");
    try {
      await deliver(call, result, requestedAt);
      if ("error" in result) report("failed", result.error);
      else report("done");
    } catch (error) {
      if (!this.#life.signal.aborted) report("failed", asError(error));
    }
  }

  async #handle(call: HandledCall): Promise<Result> {
    try {
      const handler = this.#handlers[call.toolName];
      if (handler === undefined) throw new Error(`There is no handler for ${call.toolName} here.`);
      return { output: await handler(call.input, call) };
    } catch (error) {
      return { error: asError(error) };
    }
  }

  readonly #acknowledging: Deliver = async ({ toolCallId }, result, requestedAt) => {
    const outcome =
      "error" in result
        ? ({ status: "failed", errorText: result.error.message } as const)
        : ({ status: "success", output: result.output ?? null, errorText: null } as const);
    await acknowledge(this.#server, { toolCallId, ...outcome, requestedAt }, this.#life.signal);
  };
}

function adding(addToolOutput: AddToolOutput): Deliver {
  return async ({ toolCallId, toolName: tool }, result) => {
    await addToolOutput(
      "error" in result
        ? { tool, toolCallId, state: "output-error", errorText: result.error.message }
        : { tool, toolCallId, output: result.output ?? null },
    );
  };
}

function callOf(tool: ToolPart): FrontendCall {
  return { toolCallId: tool.toolCallId, toolName: nameOfTool(tool), input: tool.input };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
