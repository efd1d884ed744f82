import { isObject } from "./isObject";

/** The tool by which a running tool asks the user something. */
export const ASK_USER = "ask_user";

/** What is asked, as the call's input has it. */
export interface Question {
  message: string;
  /** A flat JSON Schema, as an MCP server's elicitation has it. */
  schema: Readonly<Record<string, unknown>>;
  /** The tool that asks. */
  from: string | undefined;
}

/** The question of a call; a capture from a file has been checked by nobody. */
export function questionOf(input: unknown): Question | undefined {
  if (!isObject(input) || typeof input.message !== "string") return undefined;
  return {
    message: input.message,
    schema: isObject(input.schema) ? input.schema : {},
    from: typeof input.from === "string" ? input.from : undefined,
  };
}
