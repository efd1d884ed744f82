import type { UIMessage, UITools } from "ai";
import type { ToolCallId } from "../protocol.js";
import type { ASK_USER } from "./ask-user.js";

/** A call for the browser. */
export type FrontendCall = {
  toolCallId: ToolCallId;
  toolName: string;
  /** The model's input, which the server has validated against the tool's schema. */
  input: unknown;
};

/** A call as passed to its handler. */
export type HandledCall = FrontendCall & {
  /**
   * Aborted when the call is over before the handler is: stopped, expired, denied or answered elsewhere, replaced by a newer
   * message, or deleted with its chat. Also when the page leaves the chat; a result that is returned nevertheless is then
   * sent, and a handler that throws is run again on return. Close what the handler has opened: a dialog, a camera.
   */
  signal: AbortSignal;
};

/** Runs a tool in the browser. Its return value is the tool's output; what it throws is reported to the model. */
export type ToolHandler<INPUT = unknown, OUTPUT = unknown> = (
  input: INPUT,
  call: HandledCall,
) => OUTPUT | Promise<OUTPUT>;

/** Handlers by tool name. */
export type ToolHandlers = Record<string, ToolHandler>;

/** The tools of a message type. */
type ToolsOf<UI_MESSAGE extends UIMessage> =
  UI_MESSAGE extends UIMessage<infer _METADATA, infer _DATA, infer TOOLS> ? TOOLS : UITools;

/**
 * Handlers for the tools of a message type: names, inputs and outputs are checked. Any handlers for the plain
 * `UIMessage`, which names no tools.
 */
export type ToolHandlersOf<UI_MESSAGE extends UIMessage> = string extends keyof ToolsOf<UI_MESSAGE>
  ? ToolHandlers
  : {
      [NAME in keyof ToolsOf<UI_MESSAGE> & string]?:
        | ToolHandler<ToolsOf<UI_MESSAGE>[NAME]["input"], ToolsOf<UI_MESSAGE>[NAME]["output"]>
        | undefined;
    } & { [NAME in typeof ASK_USER]?: ToolHandler | undefined };
