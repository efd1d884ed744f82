import type { Chunk } from "holdpoint/protocol";

/** The model is asked again, by the server's `data-holdpoint-retry`. */
export interface Delay {
  /** Why, and when: the server's words. */
  message: string;
}

const RETRY = "data-holdpoint-retry";

/**
 * What is known about a delay after another chunk. Anything else than a further delay comes from a model that answers,
 * or ends the response.
 */
export function delayAfter(chunk: Chunk | "[DONE]"): Delay | undefined {
  if (chunk === "[DONE]" || chunk.type !== RETRY || !("data" in chunk)) return undefined;
  const { data } = chunk;
  if (typeof data !== "object" || data === null || !("message" in data)) return undefined;
  return typeof data.message === "string" && data.message !== "" ? { message: data.message } : undefined;
}
