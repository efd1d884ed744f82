import type { AckResponse, ApprovalId, DecisionRequest, PendingApproval } from "../protocol.js";
import { type ServerEvent, watchEvents } from "./events.js";
import { Server } from "./server.js";
import type { ServerOptions } from "./server-options.js";

/** What happens in the inbox. */
export type ApprovalsListener = {
  /** The whole list, oldest first: at the beginning and after every change. */
  onChange: (approvals: PendingApproval[]) => void;
  /** The connection came or went. */
  onConnection?: ((isConnected: boolean) => void) | undefined;
  /** Something failed; it is tried again. */
  onError?: ((error: Error) => void) | undefined;
};

/** The approvals inbox: everything that waits for this user's decision, in whichever chat. */
export class ApprovalsClient {
  readonly #options: ServerOptions;
  readonly #server: Server;

  constructor(options: ServerOptions = {}) {
    this.#options = options;
    this.#server = new Server(options);
  }

  /** What waits now, oldest first. */
  async list(signal?: AbortSignal): Promise<PendingApproval[]> {
    const response = await this.#server.request("/api/approvals", { signal });
    return (await response.json()) as PendingApproval[];
  }

  /**
   * Decides one. The same decision again is no error (`ignored` in the answer); one that contradicts an earlier decision, or comes
   * after the deadline, is thrown as a `ServerError` with status 409 or 410.
   */
  async decide(approvalId: ApprovalId, decision: DecisionRequest): Promise<AckResponse> {
    const path = `/api/approvals/${encodeURIComponent(approvalId)}`;
    const response = await this.#server.request(path, { method: "POST", body: decision });
    return (await response.json()) as AckResponse;
  }

  /** Follows the inbox, over lost connections too, until the returned function is called. */
  watch(listener: ApprovalsListener): () => void {
    const abort = new AbortController();
    let isReading = false;
    let isStale = false;
    // One list at a time: a change during the reading makes it read once more, however many changes there were.
    const read = async () => {
      isStale = true;
      if (isReading) return;
      isReading = true;
      try {
        while (isStale && !abort.signal.aborted) {
          isStale = false;
          const approvals = await this.list(abort.signal);
          if (!abort.signal.aborted) listener.onChange(approvals);
        }
      } catch (error) {
        if (!abort.signal.aborted) listener.onError?.(error instanceof Error ? error : new Error(String(error)));
      } finally {
        isReading = false;
      }
    };
    const onEvent = (event: ServerEvent) => {
      if (event.type !== "chat") void read();
    };
    const { onConnection, onError } = listener;
    const stop = watchEvents({ ...this.#options, onConnection, onError, onEvent });
    return () => {
      abort.abort();
      stop();
    };
  }
}
