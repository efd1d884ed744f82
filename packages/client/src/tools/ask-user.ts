import type { ToolCallId } from "../protocol.js";
import type { ToolHandler } from "./tool-handler.js";

/** What a tool that runs on the server wants to know of the user. */
export type UserQuestion = {
  toolCallId: ToolCallId;
  /** In words. */
  message: string;
  /** A flat JSON Schema of the answer's content, as an MCP server's elicitation has it. */
  schema: Record<string, unknown>;
  /** The tool that asks. */
  from: string | undefined;
  /** Aborted when there is nothing to answer any more: answered in another tab, expired, stopped, or the page left the chat. */
  signal: AbortSignal;
};

/** `decline` is a no; `cancel` is neither: the question was put away. */
export type UserAnswer =
  | { action: "accept"; content?: Record<string, unknown> | undefined }
  | { action: "decline" | "cancel"; content?: undefined };

/** The handler of `ask_user`: gives the question to a function of yours that shows a form, and sends what it returns. */
export function askUser(options: { ask: (question: UserQuestion) => UserAnswer | Promise<UserAnswer> }): ToolHandler {
  return async (input, { toolCallId, signal }) => {
    const { message, schema, from } = (input ?? {}) as { message?: unknown; schema?: unknown; from?: unknown };
    if (typeof message !== "string") throw new Error("There is no question to ask.");
    const { action, content } = await options.ask({
      toolCallId,
      message,
      schema: isRecord(schema) ? schema : {},
      from: typeof from === "string" ? from : undefined,
      signal: signal ?? new AbortController().signal,
    });
    return action === "accept" ? { action, content: content ?? {} } : { action };
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
