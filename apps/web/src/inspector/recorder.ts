import type { Mode } from "../modes";
import { byteLength, EMPTY_RECORDING, type Entry, isChunk, type Mark, type Recording, type Segment } from "./entry";

/** Keeps a very long chat from filling the tab's memory: the oldest segments are dropped first. */
const MAX_ENTRIES = 20_000;

/** All traffic of one chat since the page was loaded. */
export class Recorder {
  private entries: Entry[] = [];
  private segments: Segment[] = [];
  private snapshot: Recording = EMPTY_RECORDING;
  private listeners = new Set<() => void>();
  private isScheduled = false;
  private nextIndex = 0;
  private nextSegment = 1;

  constructor(private readonly now: () => number = Date.now) {}

  /** A request is sent. Returns the number under which its response is recorded. */
  begin(mode: Mode, label: string): number {
    const number = this.nextSegment++;
    this.segments.push({ number, mode, label, startedAt: this.now() });
    this.changed();
    return number;
  }

  payload(segment: number, text: string): void {
    const base = this.base(segment, byteLength(text) + 8);
    if (text === "[DONE]") {
      this.push({ ...base, kind: "done" });
      return;
    }
    let chunk: unknown;
    try {
      chunk = JSON.parse(text);
    } catch {
      chunk = undefined;
    }
    this.push(isChunk(chunk) ? { ...base, kind: "chunk", chunk, text } : { ...base, kind: "broken", text });
  }

  comment(segment: number, text: string): void {
    this.push({ ...this.base(segment, byteLength(text) + 3), kind: "comment", text });
  }

  mark(mark: Mark): void {
    const segment = this.segments.at(-1)?.number;
    if (segment !== undefined) this.push({ ...this.base(segment, 0), kind: "mark", mark });
  }

  /** Drops a response that nobody read to its end. */
  drop(segment: number): void {
    this.segments = this.segments.filter(({ number }) => number !== segment);
    this.entries = this.entries.filter((entry) => entry.segment !== segment || entry.kind === "mark");
    this.changed();
  }

  clear(): void {
    this.entries = [];
    this.segments = [];
    this.changed();
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  read = (): Recording => this.snapshot;

  private base(segment: number, size: number) {
    return { index: this.nextIndex++, at: this.now(), segment, size };
  }

  private push(entry: Entry): void {
    this.entries.push(entry);
    if (this.entries.length > MAX_ENTRIES) this.dropOldest();
    this.changed();
  }

  private dropOldest(): void {
    const oldest = this.segments.shift();
    this.entries = this.entries.filter((entry) => entry.segment !== oldest?.number);
  }

  /** Many chunks can arrive in one frame: listeners are called once. */
  private changed(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    setTimeout(() => {
      this.isScheduled = false;
      this.snapshot = { entries: [...this.entries], segments: [...this.segments] };
      for (const listener of this.listeners) listener();
    }, 16);
  }
}

const recorders = new Map<string, Recorder>();

/** Recordings survive a switch of chats, but not a reload. */
export function recorderOf(chatId: string): Recorder {
  const known = recorders.get(chatId);
  if (known) return known;
  const recorder = new Recorder();
  recorders.set(chatId, recorder);
  return recorder;
}
