import type { Chunk, MessageId, UiMessage } from "../protocol.js";
import { KnownMessage } from "./known-message.js";
import { isSettledMessage, newsOfStored } from "./news-of-stored.js";

/** The stream may end here: the turn is over, or waits for an approval. */
const PAUSE = Symbol("pause");
type Item = Chunk | typeof PAUSE;

/** What is kept of one message at most, in characters. More than any screen shows. */
const MAX_KEPT = 16 * 1024 * 1024;

/** One assistant message: what came of it, and what of that was read. */
export class MessageLog {
  readonly #known: KnownMessage;
  /** All of it, for whoever begins anew; runs of deltas are joined. */
  #all: Chunk[] = [];
  #unread: Item[] = [];
  #kept = 0;
  #isOver = false;
  #isAsking = false;

  constructor(readonly id: MessageId) {
    this.#known = new KnownMessage(id);
  }

  /** For a message that the client has already: only what is not in it will be news. */
  static of(message: UiMessage): MessageLog {
    const log = new MessageLog(message.id);
    log.#known.seed(message);
    return log;
  }

  /** Whether its turn has ended. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether more is coming by itself: its turn neither has ended nor waits for an approval. */
  get isRunning(): boolean {
    return !this.#isOver && !this.#isAsking;
  }

  /** Whether something to show was not read. That a turn has ended is nothing to show. */
  get hasUnread(): boolean {
    return this.#unread.some((item) => item !== PAUSE && !SILENT.has(item.type));
  }

  /** The server begins to tell it again, from its `start`; or says once more how it ended. */
  retell(): void {
    this.#known.retell();
    this.#isOver = false;
  }

  /** The client has answered what it waits for: who reads now waits for what follows. */
  answered(): void {
    if (this.#isOver) return;
    this.#isAsking = false;
    this.#unread = this.#unread.filter((item) => item !== PAUSE);
  }

  /** Takes a chunk; says whether there was anything new in it. */
  take(chunk: Chunk): boolean {
    if (this.#isOver) return false;
    const news = this.#known.news(chunk);
    for (const fresh of news) this.#add(fresh);
    return news.length > 0;
  }

  /** The turn is over. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#unread.push(PAUSE);
  }

  /** Takes the stored message, read because its end was missed; says whether it is the end. */
  catchUp(message: UiMessage): boolean {
    if (this.#isOver || !isSettledMessage(message)) return false;
    for (const fresh of newsOfStored(this.#known, message)) this.#add(fresh);
    this.end();
    return true;
  }

  /** The next thing to read: a chunk, `pause` where a stream may end, or nothing so far. */
  next(): Chunk | "pause" | undefined {
    for (;;) {
      const item = this.#unread.shift();
      if (item !== PAUSE) {
        if (item !== undefined) this.#kept -= sizeOf(item);
        return item;
      }
      // A question that was answered elsewhere meanwhile is no reason to stop reading.
      if (this.#unread.length === 0) return "pause";
    }
  }

  /** From here on it is read from the beginning, with settled calls told in the short way that makes no client run them. */
  rewind(): void {
    const errors = this.#unread.filter((item) => item !== PAUSE && item.type === "error");
    const pause: Item[] = this.#isOver || this.#isAsking ? [PAUSE] : [];
    this.#unread = [...shortened(this.#all, this.#known), ...errors, ...pause];
    this.#count();
  }

  /** Nobody will read it. */
  discard(): void {
    this.#unread = [];
    this.#count();
  }

  #add(chunk: Chunk): void {
    if (chunk.type === "tool-approval-request") this.#isAsking = true;
    else if (chunk.type !== "finish-step") this.#isAsking = false;
    if (chunk.type !== "error") this.#kept += append(this.#all, chunk);
    this.#kept += append(this.#unread, chunk);
    if (chunk.type === "finish-step" && this.#isAsking) this.#unread.push(PAUSE);
    if (this.#kept <= MAX_KEPT) return;
    const errorText = "This answer is too long to be kept. Load the chat again to see all of it.";
    this.#all = [];
    this.#unread = [{ type: "error", errorText }];
    this.#count();
  }

  #count(): void {
    const chunks = this.#unread.filter((item) => item !== PAUSE);
    this.#kept = [...this.#all, ...chunks].reduce((sum, chunk) => sum + sizeOf(chunk), 0);
  }
}

/** Chunks that show nothing. */
const SILENT: ReadonlySet<string> = new Set([
  "start",
  "start-step",
  "finish-step",
  "finish",
  "abort",
  "message-metadata",
]);

/** Adds a chunk, joined to the last where both are pieces of one text; says how much larger the list is now. */
function append(list: Item[], chunk: Chunk): number {
  const last = list.at(-1);
  const isDelta = chunk.type === "text-delta" || chunk.type === "reasoning-delta";
  if (isDelta && last !== undefined && last !== PAUSE && last.type === chunk.type && last.id === chunk.id) {
    list[list.length - 1] = { ...last, delta: last.delta + chunk.delta };
    return chunk.delta.length;
  }
  list.push(chunk);
  return sizeOf(chunk);
}

function shortened(chunks: readonly Chunk[], known: KnownMessage): Chunk[] {
  const isSettled = (chunk: Chunk | undefined) =>
    chunk?.type === "tool-approval-request" && known.isSettled(chunk.toolCallId);
  return chunks.flatMap((chunk, at): Chunk[] => {
    if (chunk.type === "start-step" && isSettled(chunks[at + 1])) return [];
    if (chunk.type === "finish-step" && isSettled(chunks[at - 1])) return [];
    if (isSettled(chunk)) return [];
    if (chunk.type !== "tool-input-available" || !known.isSettled(chunk.toolCallId)) return [chunk];
    const { toolCallId, input } = chunk;
    return [{ type: "tool-input-delta", toolCallId, inputTextDelta: JSON.stringify(input ?? {}) }];
  });
}

function sizeOf(chunk: Chunk): number {
  return "delta" in chunk ? chunk.delta.length + 64 : JSON.stringify(chunk).length;
}
