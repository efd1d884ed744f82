import type { ToolCallId } from "../protocol.js";

/** The tool with which a running tool prompts the user. `GET /api/tools` does not list it: the model can't call it. */
export const ASK_USER = "ask_user";

type OpenPrompt = { abort: AbortController; done: Promise<void> };

/**
 * The open prompts of one executor. Unlike other calls they are shown in every tab, since the user may be looking at
 * any of them. The first answer counts, and the other tabs withdraw theirs.
 */
export class OpenPrompts {
  readonly #open = new Map<ToolCallId, OpenPrompt>();

  /** The calls whose prompt is open. */
  get calls(): ToolCallId[] {
    return [...this.#open.keys()];
  }

  /** Opens a prompt. If it is already open, returns its promise. */
  open(toolCallId: ToolCallId, run: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const before = this.#open.get(toolCallId);
    if (before !== undefined) return before.done;
    const abort = new AbortController();
    const done = run(abort.signal);
    this.#open.set(toolCallId, { abort, done });
    return done;
  }

  /** Withdraws a prompt that is settled or has nobody to answer it, so that it may be opened again. */
  withdraw(toolCallId: ToolCallId): void {
    this.#open.get(toolCallId)?.abort.abort();
    this.#open.delete(toolCallId);
  }
}
