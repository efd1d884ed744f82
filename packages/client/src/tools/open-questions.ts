import type { ToolCallId } from "../protocol.js";

/** The tool by which a running tool asks the user. `GET /api/tools` does not list it: the model can't call it. */
export const ASK_USER = "ask_user";

type Asked = { abort: AbortController; done: Promise<void> };

/**
 * The questions that one executor has asked. Unlike other calls they are asked in every tab, since any of them may be looked at; the
 * first answer counts, and the others are taken back.
 */
export class OpenQuestions {
  readonly #asked = new Map<ToolCallId, Asked>();

  /** The calls that were asked and are not settled. */
  get calls(): ToolCallId[] {
    return [...this.#asked.keys()];
  }

  /** Asks, unless it is asked already: then that is what comes back. */
  ask(toolCallId: ToolCallId, run: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const before = this.#asked.get(toolCallId);
    if (before !== undefined) return before.done;
    const abort = new AbortController();
    const done = run(abort.signal);
    this.#asked.set(toolCallId, { abort, done });
    return done;
  }

  /** It is settled, or nobody is there to answer: takes it back, so that it may be asked again. */
  takeBack(toolCallId: ToolCallId): void {
    this.#asked.get(toolCallId)?.abort.abort();
    this.#asked.delete(toolCallId);
  }
}
