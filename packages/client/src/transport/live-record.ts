import type { Chunk } from "../protocol.js";

/** One frame of the server's on `/live`. */
export type LiveRecord =
  | { kind: "chunk"; chunk: Chunk }
  | { kind: "done" }
  | { kind: "pong"; timestamp: unknown }
  /** What this client does not know: left alone, so that a newer server can say more. */
  | { kind: "unknown" };

/** Reads a frame: an SSE record (`data: …`), or a pong. */
export function readLiveRecord(text: string): LiveRecord {
  const payload = (text.startsWith("data:") ? text.slice(5) : text).trim();
  if (payload === "[DONE]") return { kind: "done" };
  let value: unknown;
  try {
    value = JSON.parse(payload);
  } catch {
    return { kind: "unknown" };
  }
  if (typeof value !== "object" || value === null || !("type" in value) || typeof value.type !== "string") {
    return { kind: "unknown" };
  }
  if (value.type === "pong") return { kind: "pong", timestamp: "timestamp" in value ? value.timestamp : undefined };
  return { kind: "chunk", chunk: value as Chunk };
}
