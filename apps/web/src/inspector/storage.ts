import { isMode } from "../modes";
import { isObject } from "../prompt/isObject";
import { type Content, contentOf, type Entry, entryOf, type Recording, type Segment } from "./entry";

/*
 * Recordings in sessionStorage, so that they survive a reload and are gone with the tab. It holds about five million
 * characters. The oldest entries are dropped first, from the chats that were stored longest ago, then from the
 * chat itself.
 */

/** The most that all recordings of a tab may take, in characters. */
export const MAX_STORED = 2_000_000;

const PREFIX = "holdpoint-recording ";
/** The stored chats, the one that was stored longest ago first. */
const ORDER = "holdpoint-recordings";

type Row = [at: number, segment: number, content: Content];

interface Stored {
  dropped: number;
  segments: Segment[];
  rows: Row[];
}

export function readRecording(storage: Storage, chatId: string): Recording | undefined {
  const stored = parse(storage.getItem(PREFIX + chatId));
  if (stored === undefined) return undefined;
  const { dropped, segments, rows } = stored;
  return {
    dropped,
    segments,
    entries: rows.map(([at, segment, content], index) => entryOf(content, { index, at, segment })),
  };
}

export function writeRecording(storage: Storage, chatId: string, recording: Recording, limit = MAX_STORED): void {
  const others = orderOf(storage).filter((other) => other !== chatId);
  if (recording.entries.length === 0 && recording.dropped === 0) {
    storage.removeItem(PREFIX + chatId);
    write(storage, ORDER, JSON.stringify(others));
    return;
  }
  const text = pack(recording, limit);
  let total = text.length + others.reduce((sum, other) => sum + sizeOf(storage, other), 0);
  for (const other of others) {
    if (total <= limit) break;
    total -= sizeOf(storage, other);
    empty(storage, other);
    total += sizeOf(storage, other);
  }
  write(storage, ORDER, JSON.stringify([...others, chatId]));
  // Whatever else is in the storage may leave less room than expected.
  for (let room = limit; room > 1_000; room /= 2) {
    if (write(storage, PREFIX + chatId, room === limit ? text : pack(recording, room))) return;
  }
  storage.removeItem(PREFIX + chatId);
}

export function forgetRecording(storage: Storage, chatId: string): void {
  storage.removeItem(PREFIX + chatId);
  write(storage, ORDER, JSON.stringify(orderOf(storage).filter((other) => other !== chatId)));
}

export function forgetAllRecordings(storage: Storage): void {
  for (const chatId of orderOf(storage)) storage.removeItem(PREFIX + chatId);
  storage.removeItem(ORDER);
}

/** The newest entries, as many as fit. */
function pack({ entries, segments, dropped }: Recording, limit: number): string {
  const rows: string[] = [];
  const used = new Set<number>();
  let size = 200;
  for (const entry of entries.toReversed()) {
    const row = JSON.stringify(rowOf(entry));
    size += row.length + 1;
    if (!used.has(entry.segment)) size += 200;
    if (size > limit) break;
    used.add(entry.segment);
    rows.push(row);
  }
  const kept = segments.filter(({ number }) => used.has(number));
  const head = JSON.stringify({ dropped: dropped + entries.length - rows.length, segments: kept });
  return `${head.slice(0, -1)},"rows":[${rows.toReversed().join(",")}]}`;
}

function rowOf(entry: Entry): Row {
  return [entry.at, entry.segment, contentOf(entry)];
}

/** Leaves only how much there was, so that the user can be told. */
function empty(storage: Storage, chatId: string): void {
  const stored = parse(storage.getItem(PREFIX + chatId));
  if (stored === undefined) storage.removeItem(PREFIX + chatId);
  else
    write(
      storage,
      PREFIX + chatId,
      pack({ entries: [], segments: [], dropped: stored.dropped + stored.rows.length }, 0),
    );
}

function parse(text: string | null): Stored | undefined {
  if (text === null) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isStored(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Another version of the console may have stored it. */
function isStored(value: unknown): value is Stored {
  return (
    isObject(value) &&
    typeof value.dropped === "number" &&
    Array.isArray(value.segments) &&
    value.segments.every((segment) => isObject(segment) && isMode(segment.mode)) &&
    Array.isArray(value.rows) &&
    value.rows.every((row) => Array.isArray(row) && isObject(row[2]) && KINDS.includes(row[2].kind))
  );
}

const KINDS: readonly unknown[] = ["payload", "comment", "request", "mark"] satisfies Content["kind"][];

function orderOf(storage: Storage): string[] {
  try {
    const order: unknown = JSON.parse(storage.getItem(ORDER) ?? "[]");
    return Array.isArray(order) ? order.filter((chatId) => typeof chatId === "string") : [];
  } catch {
    return [];
  }
}

function sizeOf(storage: Storage, chatId: string): number {
  return storage.getItem(PREFIX + chatId)?.length ?? 0;
}

function write(storage: Storage, name: string, text: string): boolean {
  try {
    storage.setItem(name, text);
    return true;
  } catch {
    return false;
  }
}
