import type { ToolCallId } from "../protocol.js";

/** One call for a browser. */
export type FrontendCall = {
  toolCallId: ToolCallId;
  toolName: string;
  /** What the model wrote, checked by the server against the tool's schema. */
  input: unknown;
};

/** Does a tool's work in the browser. What it returns is the tool's output; what it throws is told to the model. */
export type ToolHandler = (input: unknown, call: FrontendCall) => unknown | Promise<unknown>;

/** Handlers by tool name. */
export type ToolHandlers = Record<string, ToolHandler>;
