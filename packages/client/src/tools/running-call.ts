import type { FrontendCall } from "./tool-handler.js";

/** A handler at work on one call. Its signal is aborted when its work is no longer wanted. */
export class RunningCall {
  readonly call: FrontendCall;
  /** Whether the turn waits for the result. If not, the call is over for the server before its handler begins. */
  readonly isWaiting: boolean;
  /** Resolves when the call is over. */
  readonly over: Promise<undefined>;
  /** The message that shows the call, once one does. */
  messageId: string | undefined;
  readonly #abort = new AbortController();
  #isOver = false;
  #resolve: (value: undefined) => void = () => {};

  constructor(call: FrontendCall, isWaiting: boolean) {
    this.call = call;
    this.isWaiting = isWaiting;
    this.over = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether the result is no longer wanted. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The call has an outcome, or is gone: what the handler returns is ignored. */
  end(): void {
    this.#isOver = true;
    this.#abort.abort(new DOMException("The call is over.", "AbortError"));
    this.#resolve(undefined);
  }

  /** The page is left. The call still waits, so a result that comes nevertheless is sent. */
  leave(): void {
    this.#abort.abort(new DOMException("The page has left the chat.", "AbortError"));
  }
}
