import type { PendingApproval, ServerEvent } from "../protocol.js";
import { watchEvents } from "./events.js";
import { asHoldpointError, type HoldpointError, requestFailure } from "./holdpoint-error.js";
import { readPages } from "./read-pages.js";
import { retryUntilResponse } from "./retry-until-response.js";
import { Server } from "./server.js";
import type { ServerOptions } from "./server-options.js";

/** Callbacks for the approvals inbox. */
export type ApprovalsListener = {
  /** The whole list, oldest first: at the start and after every change. */
  onChange: (approvals: PendingApproval[]) => void;
  /** The connection was established or lost. */
  onConnection?: ((isConnected: boolean) => void) | undefined;
  /** Something failed. It is retried. */
  onError?: ((error: HoldpointError) => void) | undefined;
};

/** The approvals inbox: all approval requests that this user can decide, across chats. Use `Decider` to decide them. */
export class ApprovalsClient {
  readonly #options: ServerOptions;
  readonly #server: Server;

  constructor(options: ServerOptions = {}) {
    this.#options = options;
    this.#server = new Server(options);
  }

  /** The open approval requests, oldest first. */
  async list(signal?: AbortSignal): Promise<PendingApproval[]> {
    return await readPages<PendingApproval>(this.#server, "/api/approvals", signal);
  }

  /** Follows the inbox, across reconnects, until the returned function is called. */
  watch(listener: ApprovalsListener): () => void {
    const abort = new AbortController();
    let isReading = false;
    let isStale = false;
    const onError = (error: HoldpointError) => {
      if (!abort.signal.aborted) listener.onError?.(error);
    };
    // One read at a time: any number of changes during a read cause exactly one more.
    const read = async () => {
      isStale = true;
      if (isReading) return;
      isReading = true;
      while (isStale && !abort.signal.aborted) {
        isStale = false;
        try {
          const approvals = await retryUntilResponse(this.#server, (signal) => this.list(signal), {
            signal: abort.signal,
            onRetry: onError,
          });
          if (!abort.signal.aborted) listener.onChange(approvals);
        } catch (error) {
          onError(asHoldpointError(requestFailure(error), "unreachable"));
        }
      }
      isReading = false;
    };
    const onEvent = (event: ServerEvent) => {
      if (event.type !== "chat") void read();
    };
    const stop = watchEvents({ ...this.#options, onConnection: listener.onConnection, onError, onEvent });
    return () => {
      abort.abort();
      stop();
    };
  }
}
