import type { ToolCallId } from "../protocol.js";

/** The tool with which a running tool prompts the user. `GET /api/tools` does not list it: the model can't call it. */
export const ASK_USER = "ask_user";

type Asked = { abort: AbortController; done: Promise<void> };

/**
 * The open prompts of one executor. Unlike other calls they are shown in every tab, since the user may be looking at
 * any of them. The first answer counts, and the other tabs withdraw theirs.
 */
export class OpenQuestions {
  readonly #asked = new Map<ToolCallId, Asked>();

  /** The calls whose prompt is open. */
  get calls(): ToolCallId[] {
    return [...this.#asked.keys()];
  }

  /** Opens a prompt. If it is already open, returns its promise. */
  ask(toolCallId: ToolCallId, run: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const before = this.#asked.get(toolCallId);
    if (before !== undefined) return before.done;
    const abort = new AbortController();
    const done = run(abort.signal);
    this.#asked.set(toolCallId, { abort, done });
    return done;
  }

  /** Withdraws a prompt that is settled or has nobody to answer it, so that it may be opened again. */
  takeBack(toolCallId: ToolCallId): void {
    this.#asked.get(toolCallId)?.abort.abort();
    this.#asked.delete(toolCallId);
  }
}
