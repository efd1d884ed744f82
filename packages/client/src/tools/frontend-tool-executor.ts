import type { DecidableMessage } from "../auto-send/decide.js";
import type { Chunk, ToolCallId } from "../protocol.js";
import type { ServerOptions } from "../server/server-options.js";
import type { ToolSpec } from "../server/tool-spec.js";
import type { FrontendCall, ToolHandlers } from "./tool-handler.js";

/** How one call goes. */
export type ToolReport = FrontendCall & {
  state: "running" | "done" | "failed";
  /** For `failed`: that the handler failed, or that its result did not reach the server. */
  error?: Error;
};

/** Options of a {@link FrontendToolExecutor}. */
export type FrontendToolExecutorOptions = ServerOptions & {
  /** `adk`: an approved call's result goes out with its approval, by `addToolOutput`. `ai-sdk`: every result is acknowledged. */
  profile: "adk" | "ai-sdk";
  /** What runs here. */
  handlers: ToolHandlers;
  /** How each call goes. */
  onReport?: ((report: ToolReport) => void) | undefined;
};

/** How a result is put into the chat: `addToolOutput` of `useChat`. */
export type AddToolOutput = (
  result:
    | { tool: string; toolCallId: ToolCallId; output: unknown }
    | { tool: string; toolCallId: ToolCallId; state: "output-error"; errorText: string },
) => void | PromiseLike<void>;

/** Runs the calls that are the browser's own, each once, and tells the server how they went. */
export class FrontendToolExecutor {
  constructor(_options: FrontendToolExecutorOptions) {}

  /** The server's tools. Before they are known nothing runs by itself. */
  setTools(_tools: readonly ToolSpec[]): void {
    throw new Error("not built yet");
  }

  /** Looks at the chat's messages and runs what may run now. Call it after every change; calling it too often is harmless. */
  observe(_messages: readonly DecidableMessage[], _addToolOutput: AddToolOutput): void {
    throw new Error("not built yet");
  }

  /** Looks at a chunk: a delegated call is run when it comes, and never because it is in the history. */
  observeChunk(_chunk: Pick<Chunk, "type">): void {
    throw new Error("not built yet");
  }

  /** Runs a call and acknowledges it; a call that ran before is not run again. */
  execute(_call: FrontendCall): Promise<void> {
    throw new Error("not built yet");
  }

  /** Runs a call once more: the way back after a failure. */
  retry(_toolCallId: ToolCallId): Promise<void> {
    throw new Error("not built yet");
  }
}
