import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { EMPTY_RECORDING, type Recording } from "./entry";

/** The state of a capture at one point of its replay. */
export interface PlayerState {
  /** How many entries have been played. */
  position: number;
  isPlaying: boolean;
  speed: number;
  messages: readonly UIMessage[];
  /** The error that the SDK's reader threw, as it would in a real client. */
  error: string | undefined;
}

/** Pauses in the file are kept, but capped: nobody wants to watch somebody think for minutes. */
const LONGEST_PAUSE_MS = 1200;

/** Plays a recording through the SDK's own reader. */
export class Player {
  private state: PlayerState = { position: 0, isPlaying: false, speed: 1, messages: [], error: undefined };
  private listeners = new Set<() => void>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private segment: { number: number; controller: ReadableStreamDefaultController<UIMessageChunk> } | undefined;
  /** Changes with every restart, so that the reader of an earlier run is ignored. */
  private run = 0;
  /** Segments are read in order: one may continue the message of the previous one. */
  private reading: Promise<void> = Promise.resolve();

  constructor(private readonly recording: Recording = EMPTY_RECORDING) {}

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  read = (): PlayerState => this.state;

  play(): void {
    if (this.state.position >= this.recording.entries.length) this.restart();
    this.set({ isPlaying: true });
    this.schedule();
  }

  pause(): void {
    clearTimeout(this.timer);
    this.set({ isPlaying: false });
  }

  step(): void {
    this.pause();
    this.advance();
  }

  end(): void {
    this.pause();
    while (this.state.position < this.recording.entries.length) this.advance();
  }

  restart(): void {
    clearTimeout(this.timer);
    this.run += 1;
    this.close();
    this.reading = Promise.resolve();
    this.set({ position: 0, isPlaying: false, messages: [], error: undefined });
  }

  setSpeed(speed: number): void {
    this.set({ speed });
  }

  private schedule(): void {
    const { position, speed } = this.state;
    const next = this.recording.entries[position];
    if (next === undefined) {
      this.set({ isPlaying: false });
      return;
    }
    const before = this.recording.entries[position - 1]?.at ?? next.at;
    const pause = Math.min(LONGEST_PAUSE_MS, Math.max(0, next.at - before)) / speed;
    this.timer = setTimeout(() => {
      this.advance();
      if (this.state.isPlaying) this.schedule();
    }, pause);
  }

  private advance(): void {
    const entry = this.recording.entries[this.state.position];
    if (entry === undefined) return;
    if (entry.kind === "chunk") {
      if (this.segment?.number !== entry.segment) this.open(entry.segment, entry.chunk);
      this.segment?.controller.enqueue(entry.chunk);
    }
    if (entry.kind === "done") this.close();
    this.set({ position: this.state.position + 1 });
  }

  private open(number: number, first: UIMessageChunk): void {
    this.close();
    const run = this.run;
    const id = first.type === "start" ? first.messageId : undefined;
    const stream = new ReadableStream<UIMessageChunk>({
      start: (controller) => {
        this.segment = { number, controller };
      },
    });
    this.reading = this.reading.then(() => this.consume(stream, id, run));
  }

  private close(): void {
    try {
      this.segment?.controller.close();
    } catch {
      // The reader has thrown and cancelled the stream; its error is shown.
    }
    this.segment = undefined;
  }

  /** A segment with a known message id continues that message, as in the SDK's client. */
  private async consume(stream: ReadableStream<UIMessageChunk>, id: string | undefined, run: number): Promise<void> {
    const known = this.state.messages.find((message) => message.id === id);
    const onError = (error: unknown) => {
      if (run === this.run) this.set({ error: error instanceof Error ? error.message : String(error) });
    };
    try {
      const message = known && structuredClone(known);
      for await (const read of readUIMessageStream({ stream, onError, ...(message && { message }) })) {
        if (run !== this.run) return;
        const others = this.state.messages.filter((other) => other.id !== read.id);
        this.set({ messages: [...others, read] });
      }
    } catch (error) {
      onError(error);
    }
  }

  private set(change: Partial<PlayerState>): void {
    this.state = { ...this.state, ...change };
    for (const listener of this.listeners) listener();
  }
}
