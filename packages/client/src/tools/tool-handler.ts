import type { ToolCallId } from "../protocol.js";

/** One call for a browser. */
export type FrontendCall = {
  toolCallId: ToolCallId;
  toolName: string;
  /** What the model wrote, checked by the server against the tool's schema. */
  input: unknown;
};

/** A call as its handler gets it. */
export type HandledCall = FrontendCall & {
  /** Only for a question to the user (`ask_user`): aborted when there is nothing to answer any more. */
  signal?: AbortSignal | undefined;
};

/** Does a tool's work in the browser. What it returns is the tool's output; what it throws is told to the model. */
export type ToolHandler = (input: unknown, call: HandledCall) => unknown | Promise<unknown>;

/** Handlers by tool name. */
export type ToolHandlers = Record<string, ToolHandler>;
