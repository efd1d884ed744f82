import type { ApprovalId, Chunk, MessageId, PartId, ToolCallId, UiMessage } from "../protocol.js";
import { editedInputChunk, editedInputOf, isSameJson } from "../tools/edited-inputs.js";
import { toolPartOf } from "../tools/tool-part.js";

/** A text or reasoning block: the length known, and the length received in the current replay. */
type Block = { length: number; isEnded: boolean; received: number };
type Call = {
  isAvailable: boolean;
  isSettled: boolean;
  requests: Map<ApprovalId, ApprovalRequest>;
  input: Block;
  /** The input as it was shown. An approver may have changed it while the connection was lost. */
  shown: unknown;
  /** The input's JSON in the current replay, if it comes as deltas. */
  replayed: string;
};
/** An approval request, and whether its step was closed: the connection can be lost in between. */
type ApprovalRequest = { isClosed: boolean };
type Kind = "text" | "reasoning";

/**
 * What is known of one message. After every reconnect the server replays a message from its start, possibly shortened:
 * {@link newChunks} returns only what is new, so that nothing is shown twice.
 */
export class KnownMessage {
  readonly #blocks = new Map<`${Kind}:${PartId}`, Block>();
  /**
   * Blocks known from a stored message, where they have no ids. The next unknown block of the kind is the first of
   * these.
   */
  readonly #unnamed: Record<Kind, Block[]> = { text: [], reasoning: [] };
  readonly #calls = new Map<ToolCallId, Call>();
  /** Parts without an id arrive in the same order in every replay. */
  #others = { known: 0, received: 0 };
  #heldStep: Chunk | undefined;
  #request: ApprovalRequest | undefined;

  constructor(readonly id: MessageId) {}

  /** The server starts a replay of the message. */
  startReplay(): void {
    for (const block of this.#blocks.values()) block.received = 0;
    for (const call of this.#calls.values()) {
      call.input.received = 0;
      call.replayed = "";
    }
    this.#others.received = 0;
    this.#heldStep = undefined;
    this.#request = undefined;
  }

  isSettled(call: ToolCallId): boolean {
    return this.#calls.get(call)?.isSettled ?? false;
  }

  /** The part of this chunk that is new. */
  newChunks(chunk: Chunk): Chunk[] {
    if (chunk.type === "start-step") {
      // Dropped if the approval request in it is already known, which the next chunk shows.
      this.#heldStep = chunk;
      return [];
    }
    const fresh = this.#fresh(chunk);
    const step = this.#heldStep;
    this.#heldStep = undefined;
    return step === undefined || fresh.length === 0 ? fresh : [step, ...fresh];
  }

  #fresh(chunk: Chunk): Chunk[] {
    switch (chunk.type) {
      case "text-start":
      case "reasoning-start":
        return this.#startBlock(kindOf(chunk.type), chunk.id) ? [chunk] : [];
      case "text-delta":
      case "reasoning-delta": {
        const block = this.#blocks.get(`${kindOf(chunk.type)}:${chunk.id}`);
        const delta = block === undefined ? "" : advance(block, chunk.delta);
        return delta === "" ? [] : [{ ...chunk, delta }];
      }
      case "text-end":
      case "reasoning-end": {
        const block = this.#blocks.get(`${kindOf(chunk.type)}:${chunk.id}`);
        if (block === undefined || block.isEnded) return [];
        block.isEnded = true;
        return [chunk];
      }
      case "tool-input-start":
        if (this.#calls.has(chunk.toolCallId)) return [];
        this.#call(chunk.toolCallId);
        return [chunk];
      case "tool-input-delta": {
        const call = this.#call(chunk.toolCallId);
        if (call.isAvailable) call.replayed += chunk.inputTextDelta;
        const inputTextDelta = call.isAvailable ? "" : advance(call.input, chunk.inputTextDelta);
        return inputTextDelta === "" ? [] : [{ ...chunk, inputTextDelta }];
      }
      case "tool-input-available": {
        const call = this.#call(chunk.toolCallId);
        if (call.isAvailable || call.isSettled) return changedInput(chunk.toolCallId, call, chunk.input);
        call.isAvailable = true;
        call.shown = chunk.input;
        return [chunk];
      }
      case "tool-approval-request": {
        const call = this.#call(chunk.toolCallId);
        this.#request = call.isSettled ? { isClosed: true } : call.requests.get(chunk.approvalId);
        if (this.#request !== undefined) return [];
        this.#request = { isClosed: false };
        call.requests.set(chunk.approvalId, this.#request);
        return [chunk];
      }
      case "tool-output-available":
      case "tool-output-error":
      case "tool-output-denied":
      case "tool-input-error": {
        const call = this.#call(chunk.toolCallId);
        if (call.isSettled) return [];
        call.isSettled = !("preliminary" in chunk && chunk.preliminary === true);
        return [...changedInput(chunk.toolCallId, call, parsed(call.replayed)), chunk];
      }
      case "finish-step": {
        const isKnown = this.#request?.isClosed ?? false;
        if (this.#request !== undefined) this.#request.isClosed = true;
        this.#request = undefined;
        return isKnown ? [] : [chunk];
      }
      case "start":
      case "finish":
      case "abort":
      case "error":
      case "message-metadata":
      case "reset-step":
      case "start-step":
        return [chunk];
      default: {
        const edited = editedInputOf(chunk);
        // Not repeated in a replay, which announces the edited input instead.
        if (edited !== undefined) return changedInput(edited.toolCallId, this.#call(edited.toolCallId), edited.input);
        this.#others.received++;
        if (this.#others.received <= this.#others.known) return [];
        this.#others.known = this.#others.received;
        return [chunk];
      }
    }
  }

  /** Takes over what a client already shows, from its own copy of the message. */
  seed(message: Pick<UiMessage, "parts">): void {
    for (const part of message.parts) {
      if (part.type === "text" || part.type === "reasoning") {
        this.#unnamed[part.type].push({ length: part.text.length, isEnded: part.state !== "streaming", received: 0 });
        continue;
      }
      const tool = toolPartOf(part);
      if (tool === undefined) {
        if (part.type !== "step-start") this.#others.known++;
        continue;
      }
      const call = this.#call(tool.toolCallId);
      call.isAvailable = tool.state !== "input-streaming";
      call.isSettled = tool.state.startsWith("output-");
      call.shown = tool.input;
      if (tool.approval !== undefined) call.requests.set(tool.approval.id, { isClosed: true });
    }
  }

  /**
   * The new part of the nth block of a kind, read from a stored message, where blocks have no ids. An unknown block
   * gets `name` as its id; if the server also streams it, only the part beyond this text is new.
   */
  newChunksOfBlock(kind: Kind, n: number, text: string, name: PartId): Chunk[] {
    const named = [...this.#blocks].filter(([key]) => key.startsWith(`${kind}:`));
    const found = named[n];
    const id = found === undefined ? name : found[0].slice(kind.length + 1);
    const unnamed = this.#unnamed[kind];
    const block = found?.[1] ?? unnamed[n - named.length] ?? { length: 0, isEnded: false, received: 0 };
    const isKnown = found !== undefined || unnamed.includes(block);
    const delta = text.slice(block.length);
    if (isKnown && block.isEnded && delta === "") return [];
    if (!isKnown) unnamed.push(block);
    block.length = Math.max(block.length, text.length);
    block.isEnded = true;
    const chunks: Chunk[] = found === undefined ? [{ type: `${kind}-start`, id }] : [];
    if (delta !== "") chunks.push({ type: `${kind}-delta`, id, delta });
    return [...chunks, { type: `${kind}-end`, id }];
  }

  #startBlock(kind: Kind, id: PartId): boolean {
    const key = `${kind}:${id}` as const;
    if (this.#blocks.has(key)) return false;
    const unnamed = this.#unnamed[kind].shift();
    this.#blocks.set(key, unnamed ?? { length: 0, isEnded: false, received: 0 });
    return unnamed === undefined;
  }

  #call(id: ToolCallId): Call {
    let call = this.#calls.get(id);
    if (call === undefined) {
      const input = { length: 0, isEnded: false, received: 0 };
      call = { isAvailable: false, isSettled: false, requests: new Map(), input, shown: undefined, replayed: "" };
      this.#calls.set(id, call);
    }
    return call;
  }
}

/** An input that differs from the one that was shown. */
function changedInput(id: ToolCallId, call: Call, input: unknown): Chunk[] {
  if (input === undefined || call.shown === undefined || isSameJson(input, call.shown)) return [];
  call.shown = input;
  return [editedInputChunk(id, input)];
}

function parsed(json: string): unknown {
  try {
    return json === "" ? undefined : JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** Advances a block by a delta and returns the part that was not known. */
function advance(block: Block, delta: string): string {
  block.received += delta.length;
  const fresh = Math.max(0, block.received - block.length);
  block.length += fresh;
  return fresh === 0 ? "" : delta.slice(-fresh);
}

function kindOf(type: `${Kind}-${"start" | "delta" | "end"}`): Kind {
  return type.startsWith("text") ? "text" : "reasoning";
}
