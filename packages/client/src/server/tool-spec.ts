/**
 * Where a tool runs: on the server, in the browser while the turn waits for the result, or in the browser without
 * waiting.
 */
export type ToolExecution = "server" | "frontend" | "delegate";

/** One tool, as `GET /api/tools` describes it. */
export type ToolSpec = {
  name: string;
  title?: string;
  description: string;
  /** A JSON Schema. */
  inputSchema: unknown;
  execution: ToolExecution;
  /** `always`, `never`, or a rule over the input, which only the server evaluates. */
  approval: "always" | "never" | Record<string, unknown>;
  /** 0: never expires. */
  approvalTimeoutSec: number;
  timeoutSec?: number;
  wait?: "stream" | "resubmit";
  returns?: "output" | "ack";
};
