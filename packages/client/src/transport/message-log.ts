import type { Chunk, MessageId, UiMessage } from "../protocol.js";
import { editedInputOf } from "../tools/edited-inputs.js";
import { chunksFromStored, isSettledMessage } from "./chunks-from-stored.js";
import { KnownMessage } from "./known-message.js";

/** The stream may end here: the turn has ended, or waits for an approval. */
const PAUSE = Symbol("pause");
type Item = Chunk | typeof PAUSE;

/** The most that is kept of one message, in characters: more than any screen shows. */
const MAX_KEPT = 16 * 1024 * 1024;

/** One assistant message: the chunks received, and which of them were read. */
export class MessageLog {
  readonly #known: KnownMessage;
  /** All chunks, for a reader that starts over. Consecutive deltas are joined. */
  #all: Chunk[] = [];
  #unread: Item[] = [];
  #kept = 0;
  #isOver = false;
  #awaitsDecision = false;

  constructor(readonly id: MessageId) {
    this.#known = new KnownMessage(id);
  }

  /** A log for a message that the client already has: only what is not in it is new. */
  static of(message: UiMessage): MessageLog {
    const log = new MessageLog(message.id);
    log.#known.seed(message);
    return log;
  }

  /** Whether its turn has ended. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether more will follow on its own: the turn has not ended and does not wait for an approval. */
  get isRunning(): boolean {
    return !this.#isOver && !this.#awaitsDecision;
  }

  /** Whether there are unread chunks to show. The end of a turn shows nothing. */
  get hasUnread(): boolean {
    return this.#unread.some((item) => item !== PAUSE && !SILENT.has(item.type));
  }

  /** The server starts a replay with `start`, or repeats how the turn ended. */
  startReplay(): void {
    this.#known.startReplay();
    this.#isOver = false;
  }

  /** The client has answered the approval request: the reader waits for the continuation. */
  answered(): void {
    if (this.#isOver) return;
    this.#awaitsDecision = false;
    this.#unread = this.#unread.filter((item) => item !== PAUSE);
  }

  /** Adds a chunk. Returns whether any of it is new. */
  take(chunk: Chunk): boolean {
    if (this.#isOver) return false;
    const chunks = this.#known.newChunks(chunk);
    for (const fresh of chunks) this.#add(fresh);
    return chunks.length > 0;
  }

  /** The turn has ended. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#unread.push(PAUSE);
  }

  /** Adds the stored message, which was read because the end was missed. Returns whether it is the end. */
  catchUp(message: UiMessage): boolean {
    if (this.#isOver || !isSettledMessage(message)) return false;
    for (const fresh of chunksFromStored(this.#known, message)) this.#add(fresh);
    this.end();
    return true;
  }

  /** The next item to read: a chunk, `pause` where a stream may end, or `undefined` if there is none yet. */
  next(): Chunk | "pause" | undefined {
    for (;;) {
      const item = this.#unread.shift();
      if (item !== PAUSE) {
        if (item !== undefined) this.#kept -= sizeOf(item);
        return item;
      }
      // An approval request that was decided elsewhere meanwhile does not end the stream.
      if (this.#unread.length === 0) return "pause";
    }
  }

  /** Restarts reading at the beginning. Settled calls are shortened so that no client runs them. */
  rewind(): void {
    const errors = this.#unread.filter((item) => item !== PAUSE && item.type === "error");
    const pause: Item[] = this.#isOver || this.#awaitsDecision ? [PAUSE] : [];
    this.#unread = [...shortened(this.#all, this.#known), ...errors, ...pause];
    this.#count();
  }

  /** Drops unread chunks: they will not be read. */
  discard(): void {
    this.#unread = [];
    this.#count();
  }

  #add(chunk: Chunk): void {
    const edited = editedInputOf(chunk);
    if (edited !== undefined) {
      this.#edit(chunk, edited);
      return;
    }
    if (chunk.type === "tool-approval-request") this.#awaitsDecision = true;
    else if (chunk.type !== "finish-step") this.#awaitsDecision = false;
    if (chunk.type !== "error") this.#kept += append(this.#all, chunk);
    this.#kept += append(this.#unread, chunk);
    if (chunk.type === "finish-step" && this.#awaitsDecision) this.#unread.push(PAUSE);
    if (this.#kept <= MAX_KEPT) return;
    const errorText = "This answer is too long to be kept. Load the chat again to see all of it.";
    this.#all = [];
    this.#unread = [{ type: "error", errorText }];
    this.#count();
  }

  /** A reader that starts over gets only the edited input. One that has read the other input gets the edit. */
  #edit(chunk: Chunk, { toolCallId, input }: NonNullable<ReturnType<typeof editedInputOf>>): void {
    const isAnnounced = (item: Item) =>
      item !== PAUSE && item.type === "tool-input-available" && item.toolCallId === toolCallId;
    const changed = (item: Chunk): Chunk => (isAnnounced(item) ? ({ ...item, input } as Chunk) : item);
    this.#awaitsDecision = false;
    this.#all = this.#all.map(changed);
    if (this.#unread.some(isAnnounced))
      this.#unread = this.#unread.map((item) => (item === PAUSE ? item : changed(item)));
    else this.#unread.push(chunk);
    this.#count();
  }

  #count(): void {
    const chunks = this.#unread.filter((item) => item !== PAUSE);
    this.#kept = [...this.#all, ...chunks].reduce((sum, chunk) => sum + sizeOf(chunk), 0);
  }
}

/** Chunks with nothing to show. */
const SILENT: ReadonlySet<string> = new Set([
  "start",
  "start-step",
  "finish-step",
  "finish",
  "abort",
  "message-metadata",
  // Its call's outcome follows, and the reader that comes for that gets the edited input.
  "data-holdpoint-input",
]);

/** Appends a chunk, joining deltas of the same block. Returns by how much the list grew. */
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
