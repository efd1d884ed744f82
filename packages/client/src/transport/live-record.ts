import type { Chunk } from "../protocol.js";

/** One frame from the server on `/live`. */
export type LiveRecord =
  | { kind: "chunk"; chunk: Chunk }
  | { kind: "done" }
  | { kind: "pong"; timestamp: unknown }
  /** Unknown to this version. Ignored, so that a newer server can send more. */
  | { kind: "unknown" };

/** Parses a frame: an SSE record (`data: …`), or a pong. */
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
