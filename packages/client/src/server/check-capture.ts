import type { Violation } from "../protocol.js";
import { Server } from "./server.js";
import type { ServerOptions } from "./server-options.js";

/** The profile of a stream, as `holdpoint check` names it. */
export type CheckProfile = "ai-sdk" | "adk-sse" | "adk-live";

/**
 * Checks a captured stream against the rules of the AI SDK's clients, as `holdpoint check` does: SSE, one JSON chunk per
 * line, or a transcript. Resolves with the violations, at most 1,000.
 */
export async function checkCapture(
  capture: string,
  options: ServerOptions & {
    /** Default: `ai-sdk`. */
    profile?: CheckProfile | undefined;
    /** `progressive`: the client requested progressive text. */
    text?: "progressive" | undefined;
    signal?: AbortSignal | undefined;
  } = {},
): Promise<Violation[]> {
  const { profile = "ai-sdk", text, signal } = options;
  const query = new URLSearchParams({ profile, ...(text !== undefined && { text }) });
  return await new Server(options).json<Violation[]>(`/api/check?${query}`, { method: "POST", text: capture, signal });
}
