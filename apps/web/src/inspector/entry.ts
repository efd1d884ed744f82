import type { UIMessageChunk } from "ai";
import type { Mode } from "../modes";

/** A local event between the chunks, which shows who waited for whom. */
export type Mark =
  /** A decision was sent from this page. */
  | { type: "sent"; approvalId: string; approved: boolean }
  /** The decision is in force. */
  | { type: "decided"; approvalId: string; approved: boolean }
  | { type: "browser-start"; toolCallId: string }
  | { type: "browser-end"; toolCallId: string }
  /** The page was loaded again: responses that were open until then have no end here. */
  | { type: "reload" };

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
  /** A request or a socket's frame that this page sent, without its secrets. */
  | (EntryBase & { kind: "request"; label: string; headers: Readonly<Record<string, string>>; text: string })
  | (EntryBase & { kind: "mark"; mark: Mark });

export interface Segment {
  number: number;
  mode: Mode;
  /** The request, such as `POST /stream`. */
  label: string;
  /** When the request was sent. */
  startedAt: number;
  /** The message that it writes, once it is known. It outlasts the entry that said so. */
  messageId?: string;
}

/** The segment as it is after one of its entries. */
export function segmentAfter(segment: Segment, entry: Entry): Segment {
  if (entry.kind !== "chunk" || entry.chunk.type !== "start" || segment.messageId !== undefined) return segment;
  const { messageId } = entry.chunk;
  return messageId === undefined ? segment : { ...segment, messageId };
}

/** A replay sends a message from its start, whatever was sent before. */
export function isReplay({ label }: Segment): boolean {
  return label.endsWith("(replay)");
}

export interface Recording {
  entries: readonly Entry[];
  segments: readonly Segment[];
  /** How many older entries were dropped. */
  dropped: number;
}

export const EMPTY_RECORDING: Recording = { entries: [], segments: [], dropped: 0 };

/** What is recorded, before it has its place in a recording. */
export type Content =
  | { kind: "payload"; text: string }
  | { kind: "comment"; text: string }
  | { kind: "request"; label: string; headers: Readonly<Record<string, string>>; text: string }
  | { kind: "mark"; mark: Mark };

/** An entry from what was recorded. A payload may turn out to be no chunk. */
export function entryOf(content: Content, place: Pick<Entry, "index" | "at" | "segment">): Entry {
  switch (content.kind) {
    case "mark":
      return { ...place, size: 0, ...content };
    case "request":
      return { ...place, size: byteLength(content.text), ...content };
    case "comment":
      return { ...place, size: byteLength(content.text) + 3, ...content };
    case "payload": {
      const { text } = content;
      const base = { ...place, size: byteLength(text) + 8 };
      if (text === "[DONE]") return { ...base, kind: "done" };
      const chunk = parseJson(text);
      return isChunk(chunk) ? { ...base, kind: "chunk", chunk, text } : { ...base, kind: "broken", text };
    }
  }
}

/** The reverse of {@link entryOf}. */
export function contentOf(entry: Entry): Content {
  switch (entry.kind) {
    case "mark":
      return { kind: "mark", mark: entry.mark };
    case "request":
      return { kind: "request", label: entry.label, headers: entry.headers, text: entry.text };
    case "comment":
      return { kind: "comment", text: entry.text };
    case "done":
      return { kind: "payload", text: "[DONE]" };
    default:
      return { kind: "payload", text: entry.text };
  }
}

/** The value of a JSON text; `undefined` for any other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether the server sent it. */
export function isReceived({ kind }: Entry): boolean {
  return kind !== "mark" && kind !== "request";
}

/** Whether a parsed payload can be a chunk. Its content is for the checker to judge. */
export function isChunk(value: unknown): value is UIMessageChunk {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

const encoder = new TextEncoder();

/** The size of a text on the wire, in bytes. */
export function byteLength(text: string): number {
  return encoder.encode(text).length;
}
