import { jsonText } from "../value/json";
import { type Entry, isReceived } from "./entry";

export const DIRECTIONS = ["received", "sent", "page"] as const;

/** Where a record comes from: the server, this page's requests, or an event in this page. */
export type Direction = (typeof DIRECTIONS)[number];

export interface Filter {
  /** Part of the record's text, in any case. */
  text: string;
  direction: Direction | undefined;
  type: string | undefined;
}

export const NO_FILTER: Filter = { text: "", direction: undefined, type: undefined };

export function directionOf(entry: Entry): Direction {
  if (isReceived(entry)) return "received";
  return entry.kind === "request" ? "sent" : "page";
}

/** The type of a record: of a chunk its own. */
export function typeOf(entry: Entry): string {
  switch (entry.kind) {
    case "chunk":
      return entry.chunk.type;
    case "done":
      return "[DONE]";
    case "broken":
      return "not a chunk";
    case "mark":
      return entry.mark.type;
    default:
      return entry.kind;
  }
}

/** The record as it was sent or received, or as JSON. */
export function rawText(entry: Entry): string {
  switch (entry.kind) {
    case "done":
      return "[DONE]";
    case "mark":
      return JSON.stringify(entry.mark);
    case "request": {
      const headers = Object.entries(entry.headers).map(([name, value]) => `${name}: ${value}`);
      return [entry.label, ...headers, ...(entry.text === "" ? [] : ["", entry.text])].join("\n");
    }
    default:
      return entry.text;
  }
}

/** The same, easier to read. */
export function prettyText(entry: Entry): string {
  switch (entry.kind) {
    case "chunk":
      return jsonText(entry.chunk);
    case "mark":
      return jsonText(entry.mark);
    default:
      return rawText(entry);
  }
}

export function applyFilter(entries: readonly Entry[], { text, direction, type }: Filter): readonly Entry[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "" && direction === undefined && type === undefined) return entries;
  return entries.filter(
    (entry) =>
      (direction === undefined || directionOf(entry) === direction) &&
      (type === undefined || typeOf(entry) === type) &&
      (wanted === "" || rawText(entry).toLowerCase().includes(wanted) || typeOf(entry).includes(wanted)),
  );
}

/** The types that occur, by name, with their numbers. */
export function typesOf(entries: readonly Entry[]): [type: string, count: number][] {
  const counts = new Map<string, number>();
  for (const entry of entries) counts.set(typeOf(entry), (counts.get(typeOf(entry)) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => a.localeCompare(b));
}

/** One JSON object per line, for other tools. */
export function ndjson(entries: readonly Entry[]): string {
  return entries.map((entry) => `${JSON.stringify(lineOf(entry))}\n`).join("");
}

function lineOf(entry: Entry) {
  const { at, segment } = entry;
  const about = { at: new Date(at).toISOString(), segment, direction: directionOf(entry), type: typeOf(entry) };
  switch (entry.kind) {
    case "chunk":
      return { ...about, chunk: entry.chunk };
    case "mark":
      return { ...about, mark: entry.mark };
    case "request":
      return { ...about, request: { label: entry.label, headers: entry.headers, text: entry.text } };
    case "done":
      return about;
    default:
      return { ...about, text: entry.text };
  }
}
