import type { UIMessageChunk } from "ai";
import type { Chunk } from "../protocol.js";
import type { MessageLog } from "./message-log.js";

/** The stream of one request: reads a message's log until the turn ends or waits for an approval. */
export class VisibleStream {
  readonly stream: ReadableStream<UIMessageChunk>;
  #log: MessageLog | undefined;
  #begin: Chunk | undefined;
  #wake: (() => void) | undefined;
  #error: unknown;
  #isOver = false;
  #isCancelled = false;
  readonly #onOver: () => void;

  /** `onOver` is called when the stream has ended, failed or been cancelled. */
  constructor(onOver: () => void) {
    this.#onOver = onOver;
    this.stream = new ReadableStream<UIMessageChunk>(
      { pull: (controller) => this.#pull(controller), cancel: () => this.#cancel() },
      // The log is the only queue.
      { highWaterMark: 0 },
    );
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The message being read, once it is known. */
  get log(): MessageLog | undefined {
    return this.#log;
  }

  /**
   * Reads this message from the last read position. `with-start` adds a `start` chunk first, which tells the client
   * what it continues.
   */
  attach(log: MessageLog, begin: "with-start" | "as-it-is"): void {
    this.#log = log;
    if (begin === "with-start") this.#begin = { type: "start", messageId: log.id };
    this.wake();
  }

  /** Call when there may be something to read. */
  wake(): void {
    this.#wake?.();
  }

  /** Ends with an error, after the remaining chunks. */
  fail(error: unknown): void {
    this.#error ??= error;
    this.wake();
  }

  /** Ends without an error. */
  end(): void {
    this.#finish();
    this.wake();
  }

  async #pull(controller: ReadableStreamDefaultController<UIMessageChunk>): Promise<void> {
    for (;;) {
      if (this.#isCancelled) return;
      if (this.#isOver) return controller.close();
      const next = this.#next();
      if (next === "pause") {
        this.#finish();
        return controller.close();
      }
      if (next !== undefined) {
        // The two types differ only in chunks of newer SDK versions, which the server does not send.
        controller.enqueue(next as UIMessageChunk);
        if (next.type === "error") this.#finish();
        return;
      }
      if (this.#error !== undefined) {
        this.#finish();
        return controller.error(this.#error);
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  #next(): Chunk | "pause" | undefined {
    const begin = this.#begin;
    this.#begin = undefined;
    return begin ?? this.#log?.next();
  }

  #cancel(): void {
    this.#isCancelled = true;
    this.#finish();
    this.wake();
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onOver();
  }
}
