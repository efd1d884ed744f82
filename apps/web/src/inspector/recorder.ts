import type { Mode } from "../modes";
import {
  type Content,
  EMPTY_RECORDING,
  type Entry,
  entryOf,
  isReceived,
  type Mark,
  type Recording,
  type Segment,
  segmentAfter,
} from "./entry";

/** The most that is kept of one chat in memory. The oldest entries are dropped first. */
export const MAX_ENTRIES = 20_000;
export const MAX_BYTES = 16_000_000;
/** The longest body or frame that is kept whole. A request of the SDK has the whole chat in it. */
export const MAX_REQUEST = 100_000;

/** Listeners are called at most this often: many chunks can arrive in one frame. */
const QUIET_MS = 16;

/** What this page sent. */
export interface Sent {
  /** The request, such as `POST /stream`. */
  label: string;
  headers?: Readonly<Record<string, string>>;
  /** The body or frame. */
  text: string;
}

/** All traffic of one chat. */
export class Recorder {
  private entries: Entry[];
  private segments: Segment[];
  private dropped: number;
  private snapshot: Recording;
  private listeners = new Set<() => void>();
  private isScheduled = false;
  private nextIndex: number;
  private nextSegment: number;
  private bytes: number;

  constructor(
    private readonly now: () => number = Date.now,
    { entries, segments, dropped }: Recording = EMPTY_RECORDING,
  ) {
    this.entries = [...entries];
    this.segments = [...segments];
    this.dropped = dropped;
    this.snapshot = { entries, segments, dropped };
    this.nextIndex = (entries.at(-1)?.index ?? -1) + 1;
    this.nextSegment = Math.max(0, ...segments.map(({ number }) => number)) + 1;
    this.bytes = entries.reduce((sum, { size }) => sum + size, 0);
  }

  /** A request is sent. Returns the number under which its response is recorded. */
  begin(mode: Mode, label: string): number {
    const number = this.nextSegment++;
    this.segments.push({ number, mode, label, startedAt: this.now() });
    this.changed();
    return number;
  }

  payload(segment: number, text: string): void {
    this.push({ kind: "payload", text }, segment);
  }

  comment(segment: number, text: string): void {
    this.push({ kind: "comment", text }, segment);
  }

  mark(mark: Mark, at = this.now()): void {
    const segment = this.segments.at(-1)?.number;
    if (segment !== undefined) this.push({ kind: "mark", mark }, segment, at);
  }

  /** Something was sent. What begins no response belongs to the one before, or else to the next. */
  request({ label, headers = {}, text }: Sent, segment = this.segments.at(-1)?.number ?? this.nextSegment): void {
    const more = text.length - MAX_REQUEST;
    const kept = more > 0 ? `${text.slice(0, MAX_REQUEST)}… and ${more} more characters` : text;
    this.push({ kind: "request", label, headers, text: kept }, segment);
  }

  /** Drops a response that nobody read to its end. */
  drop(segment: number): void {
    this.segments = this.segments.filter(({ number }) => number !== segment);
    this.entries = this.entries.filter((entry) => entry.segment !== segment || entry.kind === "mark");
    this.bytes = this.entries.reduce((sum, { size }) => sum + size, 0);
    this.changed();
  }

  clear(): void {
    this.entries = [];
    this.segments = [];
    this.dropped = 0;
    this.bytes = 0;
    this.changed();
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** The recording, as listeners were last told. */
  read = (): Recording => this.snapshot;

  /** The recording as it is now. */
  current(): Recording {
    return { entries: [...this.entries], segments: [...this.segments], dropped: this.dropped };
  }

  private push(content: Content, segment: number, at = this.now()): void {
    const entry = entryOf(content, { index: this.nextIndex++, at, segment });
    this.entries.push(entry);
    if (entry.kind === "chunk" && entry.chunk.type === "start")
      this.segments = this.segments.map((each) => (each.number === segment ? segmentAfter(each, entry) : each));
    this.bytes += entry.size;
    if (this.entries.length > MAX_ENTRIES || this.bytes > MAX_BYTES) this.dropOldest();
    this.changed();
  }

  /** Drops a tenth more than it must, so that it is not needed for every entry. */
  private dropOldest(): void {
    let count = 0;
    for (const { size } of this.entries) {
      const left = this.entries.length - count;
      if (left <= 1 || (left <= MAX_ENTRIES * 0.9 && this.bytes <= MAX_BYTES * 0.9)) break;
      this.bytes -= size;
      count++;
    }
    this.entries = this.entries.slice(count);
    this.dropped += count;
    const used = new Set(this.entries.map(({ segment }) => segment));
    this.segments = this.segments.filter(({ number }, at) => used.has(number) || at === this.segments.length - 1);
  }

  private changed(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    setTimeout(() => {
      this.isScheduled = false;
      this.snapshot = this.current();
      for (const listener of this.listeners) listener();
    }, QUIET_MS);
  }
}

/** The recording that a page continues after it was loaded again. */
export function continued(stored: Recording, loadedAt: number, now: () => number = Date.now): Recorder {
  const recorder = new Recorder(now, stored);
  const last = stored.entries.at(-1);
  if (stored.entries.some(isReceived)) recorder.mark({ type: "reload" }, Math.max(loadedAt, last?.at ?? 0));
  return recorder;
}
