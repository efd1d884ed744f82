import type { ToolCallId } from "../protocol.js";
import type { ToolHandler } from "./tool-handler.js";

/** The tool with which a running tool prompts the user. `GET /api/tools` does not list it: the model can't call it. */
export const ASK_USER = "ask_user";

/** A prompt to the user, from a tool that runs on the server. */
export type UserPrompt = {
  toolCallId: ToolCallId;
  /** The text of the prompt. */
  message: string;
  /** A flat JSON Schema for the answer's content, as in an MCP elicitation. */
  schema: Record<string, unknown>;
  /** The tool that sent the prompt. */
  from: string | undefined;
  /** Aborted when the prompt is closed: answered in another tab, expired, stopped, or the page left the chat. */
  signal: AbortSignal;
};

/** `decline` is a refusal; `cancel` dismisses the prompt without an answer. */
export type UserAnswer =
  | { action: "accept"; content?: Record<string, unknown> | undefined }
  | { action: "decline" | "cancel"; content?: undefined };

/**
 * Creates the handler of `ask_user`: passes the prompt to your function, which shows a form, and sends what it returns.
 */
export function askUser(options: {
  prompt: (prompt: UserPrompt) => UserAnswer | Promise<UserAnswer>;
}): ToolHandler<unknown, UserAnswer> {
  return async (input, { toolCallId, signal }) => {
    const { message, schema, from } = (input ?? {}) as { message?: unknown; schema?: unknown; from?: unknown };
    if (typeof message !== "string") throw new Error("The prompt has no message.");
    const { action, content } = await options.prompt({
      toolCallId,
      message,
      schema: isRecord(schema) ? schema : {},
      from: typeof from === "string" ? from : undefined,
      signal,
    });
    return action === "accept" ? { action, content: content ?? {} } : { action };
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
