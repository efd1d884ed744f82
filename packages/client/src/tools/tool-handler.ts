import type { ToolCallId } from "../protocol.js";

/** A call for the browser. */
export type FrontendCall = {
  toolCallId: ToolCallId;
  toolName: string;
  /** The model's input, which the server has validated against the tool's schema. */
  input: unknown;
};

/** A call as passed to its handler. */
export type HandledCall = FrontendCall & {
  /** Only for a prompt (`ask_user`): aborted when the prompt is closed. */
  signal?: AbortSignal | undefined;
};

/** Runs a tool in the browser. Its return value is the tool's output; what it throws is reported to the model. */
export type ToolHandler = (input: unknown, call: HandledCall) => unknown | Promise<unknown>;

/** Handlers by tool name. */
export type ToolHandlers = Record<string, ToolHandler>;
