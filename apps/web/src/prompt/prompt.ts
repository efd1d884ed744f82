import { isObject } from "./isObject";

/** The tool with which a running tool prompts the user. */
export const ASK_USER = "ask_user";

/** A prompt, from the call's input. */
export interface Prompt {
  message: string;
  /** A flat JSON Schema, as in an MCP elicitation. */
  schema: Readonly<Record<string, unknown>>;
  /** The tool that sent the prompt. */
  from: string | undefined;
}

/** The prompt of a call. Input from a capture file has not been validated. */
export function promptOf(input: unknown): Prompt | undefined {
  if (!isObject(input) || typeof input.message !== "string") return undefined;
  return {
    message: input.message,
    schema: isObject(input.schema) ? input.schema : {},
    from: typeof input.from === "string" ? input.from : undefined,
  };
}
