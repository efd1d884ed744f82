import type { CheckProfile } from "holdpoint";
import { isMode, MODE_INFO, type Mode } from "../modes";
import { isObject } from "../prompt/isObject";
import {
  type Content,
  type Entry,
  entryOf,
  type Mark,
  parseJson,
  type Recording,
  type Segment,
  segmentAfter,
} from "./entry";

/**
 * A capture is plain SSE, so that `holdpoint check` can read it. What SSE can't express (times, requests, decisions) is
 * in comments, which every reader skips.
 */
export interface Capture {
  text: string;
  /** The entry on each line of the text, for the checker's line numbers. */
  entryAtLine: ReadonlyMap<number, number>;
}

export function serialise(recording: Recording): Capture {
  const lines: string[] = [];
  const entryAtLine = new Map<number, number>();
  const announced = new Set<number>();
  const segments = new Map(recording.segments.map((segment) => [segment.number, segment]));
  for (const entry of recording.entries) {
    const segment = segments.get(entry.segment);
    if (segment !== undefined && entry.kind !== "mark" && !announced.has(segment.number)) {
      announced.add(segment.number);
      lines.push(`: segment ${segment.startedAt} ${segment.mode} ${segment.label}`, "");
    }
    switch (entry.kind) {
      case "mark":
        lines.push(`: mark ${entry.at} ${JSON.stringify(entry.mark)}`, "");
        break;
      case "request": {
        const { label, headers, text } = entry;
        lines.push(`: request ${entry.at} ${JSON.stringify({ label, headers, text })}`, "");
        break;
      }
      case "comment":
        lines.push(`: at ${entry.at}`, `: ${entry.text}`, "");
        break;
      case "done":
      case "chunk":
      case "broken": {
        lines.push(`: at ${entry.at}`, `data: ${entry.kind === "done" ? "[DONE]" : entry.text}`, "");
        entryAtLine.set(lines.length - 1, entry.index);
        break;
      }
    }
  }
  return { text: lines.length === 0 ? "" : `${lines.join("\n")}\n`, entryAtLine };
}

/** The spacing of entries in a text without times. */
const EVEN_MS = 20;

class Builder {
  readonly entries: Entry[] = [];
  readonly segments: Segment[] = [];
  private at = 0;
  private isTimed = false;
  private isOpen = false;

  time(at: number): void {
    this.at = at;
    this.isTimed = true;
  }

  segment(mode: Mode, label: string, startedAt: number): void {
    this.segments.push({ number: this.segments.length + 1, mode, label, startedAt });
    this.isOpen = true;
  }

  add(content: Content): void {
    if (content.kind === "payload" && !this.isOpen) this.segment("sse", "capture", this.at);
    if (!this.isTimed) this.at += EVEN_MS;
    const place = { index: this.entries.length, at: this.at, segment: Math.max(1, this.segments.length) };
    const entry = entryOf(content, place);
    this.entries.push(entry);
    const segment = this.segments.at(-1);
    if (segment !== undefined) this.segments[this.segments.length - 1] = segmentAfter(segment, entry);
    if (entry.kind === "done") this.isOpen = false;
  }

  payload(text: string): void {
    this.add({ kind: "payload", text });
  }
}

/** Parses a capture: SSE text, one JSON chunk per line, a transcript's `frame` lines, or a recorded flow. */
export function parse(text: string): Recording {
  const builder = new Builder();
  const whole = parseJson(text);
  if (isFlow(whole)) {
    for (const segment of whole.segments) {
      for (const chunk of segment) builder.payload(typeof chunk === "string" ? chunk : JSON.stringify(chunk));
      if (segment.at(-1) !== "[DONE]") builder.payload("[DONE]");
    }
  } else {
    for (const line of text.split(/\r\n|\r|\n/)) readLine(line, builder);
  }
  return { entries: builder.entries, segments: builder.segments, dropped: 0 };
}

function readLine(line: string, builder: Builder): void {
  if (line.trim() === "" || /^(event|id|retry):/.test(line)) return;
  if (line.startsWith(":")) readComment(line.slice(1).trimStart(), builder);
  else if (line.startsWith("data:")) builder.payload(line.slice(5).trimStart());
  else readJsonLine(line.trim(), builder);
}

function readJsonLine(line: string, builder: Builder): void {
  const value = parseJson(line);
  if (typeof value !== "object" || value === null) builder.payload(line);
  else if ("frame" in value && typeof value.frame === "string") {
    for (const inner of value.frame.split("\n")) readLine(inner, builder);
  } else if ("frame" in value) builder.payload(JSON.stringify(value.frame));
  else if (!("request" in value) && !("status" in value)) builder.payload(line);
}

function readComment(text: string, builder: Builder): void {
  const at = /^at (\d+)$/.exec(text);
  const mark = /^mark (\d+) (\{.*\})$/.exec(text);
  const request = /^request (\d+) (\{.*\})$/.exec(text);
  const segment = /^segment (\d+) (\S+) (.*)$/.exec(text);
  if (at) builder.time(Number(at[1]));
  else if (mark) {
    const value = parseJson(mark[2] ?? "");
    builder.time(Number(mark[1]));
    if (isMark(value)) builder.add({ kind: "mark", mark: value });
  } else if (request) {
    const value = parseJson(request[2] ?? "");
    builder.time(Number(request[1]));
    if (isRequest(value)) builder.add({ ...value, kind: "request" });
  } else if (segment && isMode(segment[2])) builder.segment(segment[2], segment[3] ?? "", Number(segment[1]));
  else builder.add({ kind: "comment", text });
}

function isFlow(value: unknown): value is { segments: unknown[][] } {
  return (
    typeof value === "object" &&
    value !== null &&
    "segments" in value &&
    Array.isArray(value.segments) &&
    value.segments.every((segment) => Array.isArray(segment))
  );
}

function isMark(value: unknown): value is Mark {
  return (
    typeof value === "object" &&
    value !== null &&
    "type" in value &&
    ["sent", "decided", "browser-start", "browser-end", "reload"].includes(String(value.type))
  );
}

function isRequest(value: unknown): value is Pick<Entry & { kind: "request" }, "label" | "headers" | "text"> {
  return (
    isObject(value) &&
    typeof value.label === "string" &&
    typeof value.text === "string" &&
    isObject(value.headers) &&
    Object.values(value.headers).every((header) => typeof header === "string")
  );
}

/** The profile of a recording, or a plausible guess for a file that does not say. */
export function profileOf(recording: Recording): CheckProfile {
  const known = recording.segments.find(({ label }) => label !== "capture");
  if (known) return MODE_INFO[known.mode].profile;
  const types = recording.entries.map((entry) => (entry.kind === "chunk" ? entry.chunk.type : ""));
  if (!types.includes("start-step")) return "adk-sse";
  const request = types.indexOf("tool-approval-request");
  return request > 0 && types[request - 1] === "start-step" ? "adk-live" : "ai-sdk";
}
