import type { PendingApproval } from "../protocol.js";
import { type ApprovalsFilter, approvalsPath } from "./approvals-filter.js";
import { followRecord } from "./follow-record.js";
import type { HoldpointError } from "./holdpoint-error.js";
import { readPages } from "./read-pages.js";
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

  /** The open approval requests, or those that a filter names, oldest first. */
  async list(signal?: AbortSignal, filter: ApprovalsFilter = {}): Promise<PendingApproval[]> {
    return await readPages<PendingApproval>(this.#server, approvalsPath(filter), signal);
  }

  /** Follows the inbox, across reconnects, until the returned function is called. */
  watch(listener: ApprovalsListener): () => void {
    const { onChange: onValue, onConnection, onError } = listener;
    const { stop } = followRecord(this.#options, {
      read: (signal) => this.list(signal),
      isTouchedBy: ({ type }) => type === "approvals",
      onValue,
      onConnection,
      onError,
    });
    return stop;
  }
}
