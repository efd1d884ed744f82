import type { UIMessageChunk } from "ai";
import type { Mode } from "../modes";

/** A local event between the chunks, which shows who waited for whom. */
export type Mark =
  /** A decision was sent from this page. */
  | { type: "sent"; approvalId: string; approved: boolean }
  /** The decision is in force. */
  | { type: "decided"; approvalId: string; approved: boolean }
  | { type: "browser-start"; toolCallId: string }
  | { type: "browser-end"; toolCallId: string };

interface EntryBase {
  /** Position in the recording. */
  index: number;
  /** Milliseconds since the epoch. */
  at: number;
  /** The number of its response, from 1. */
  segment: number;
  /** The size of the record on the wire, in bytes. */
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
  /** The request, such as `POST /stream`. */
  label: string;
  /** When the request was sent. */
  startedAt: number;
}

/** A replay sends a message from its start, whatever was sent before. */
export function isReplay({ label }: Segment): boolean {
  return label.endsWith("(replay)");
}

export interface Recording {
  entries: readonly Entry[];
  segments: readonly Segment[];
}

export const EMPTY_RECORDING: Recording = { entries: [], segments: [] };

/** Whether a parsed payload can be a chunk. Its content is for the checker to judge. */
export function isChunk(value: unknown): value is UIMessageChunk {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

const encoder = new TextEncoder();

/** The size of a text on the wire, in bytes. */
export function byteLength(text: string): number {
  return encoder.encode(text).length;
}
