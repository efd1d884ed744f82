import type { UIMessageChunk } from "ai";
import type { Mode } from "../modes";

/** What happened at this end, between the chunks: without it nobody could tell who waited for whom. */
export type Mark =
  /** A decision left this page. */
  | { type: "sent"; approvalId: string; approved: boolean }
  /** It is in force. */
  | { type: "decided"; approvalId: string; approved: boolean }
  | { type: "browser-start"; toolCallId: string }
  | { type: "browser-end"; toolCallId: string };

interface EntryBase {
  /** Position in the recording. */
  index: number;
  /** Milliseconds since the epoch. */
  at: number;
  /** Number of the response that it came with, from 1. */
  segment: number;
  /** Bytes of the record on the wire. */
  size: number;
}

export type Entry =
  | (EntryBase & { kind: "chunk"; chunk: UIMessageChunk; text: string })
  | (EntryBase & { kind: "broken"; text: string })
  | (EntryBase & { kind: "comment"; text: string })
  | (EntryBase & { kind: "done" })
  | (EntryBase & { kind: "mark"; mark: Mark });

export interface Segment {
  number: number;
  mode: Mode;
  /** What was asked, such as `POST /stream`. */
  label: string;
  /** When the request left. */
  startedAt: number;
}

/** A replay tells a message from its beginning, whatever was told of it before. */
export function isReplay({ label }: Segment): boolean {
  return label.endsWith("(replay)");
}

export interface Recording {
  entries: readonly Entry[];
  segments: readonly Segment[];
}

export const EMPTY_RECORDING: Recording = { entries: [], segments: [] };

/** Whether a parsed payload can be a chunk at all; what the chunk holds is the checker's business. */
export function isChunk(value: unknown): value is UIMessageChunk {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

const encoder = new TextEncoder();

/** Bytes of a text on the wire. */
export function byteLength(text: string): number {
  return encoder.encode(text).length;
}
