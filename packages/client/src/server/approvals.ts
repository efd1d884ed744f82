import type { ApprovalId, ApprovalRecord, PendingApproval } from "../protocol.js";
import type { ApprovalDecision } from "./approval-decision.js";
import { type ApprovalsFilter, approvalsPath } from "./approvals-filter.js";
import { type DecisionProgress, type Decisions, decisionsOf, type SettledDecision } from "./decisions.js";
import { followRecord } from "./follow-record.js";
import type { HoldpointError } from "./holdpoint-error.js";
import { readPages } from "./read-pages.js";
import type { RequestOptions, Server } from "./server.js";

/** Callbacks for the approvals inbox. */
export type ApprovalsListener = {
  /** The whole list, oldest first: at the start and after every change. */
  onChange: (approvals: PendingApproval[]) => void;
  /** The connection was established or lost. */
  onConnection?: ((isConnected: boolean) => void) | undefined;
  /** Something failed. It is retried. */
  onError?: ((error: HoldpointError) => void) | undefined;
};

/** The approvals inbox: all approval requests that this user can decide, across chats; and this page's decisions. */
export class Approvals {
  readonly #server: Server;
  readonly #decisions: Decisions;

  constructor(server: Server) {
    this.#server = server;
    this.#decisions = decisionsOf(server.options);
  }

  /** The open approval requests, or those that a filter names, oldest first. */
  async list(filter: ApprovalsFilter = {}, { signal }: RequestOptions = {}): Promise<PendingApproval[]> {
    return await readPages<PendingApproval>(this.#server, approvalsPath(filter), signal);
  }

  /**
   * One open approval request, for everybody who may see it: `allowed` is empty for somebody who may not decide it.
   * Rejects with the status 410 if it has ended, and with 404 if there is none that this user may see.
   */
  async get(approvalId: ApprovalId, { signal }: RequestOptions = {}): Promise<PendingApproval> {
    return await this.#server.json<PendingApproval>(approvalPath(approvalId), { signal });
  }

  /**
   * What has become of an approval request: the request, its decision, what runs and what came of it. For everybody who
   * may see it or has decided it, also after it has ended. Rejects with 404 if there is none that this user may
   * see.
   */
  async record(approvalId: ApprovalId, { signal }: RequestOptions = {}): Promise<ApprovalRecord> {
    return await this.#server.json<ApprovalRecord>(`${approvalPath(approvalId)}/record`, { signal });
  }

  /**
   * Decides one request. The decision is sent until the server responds, for as long as the page lives. Resolves once it is
   * in force, counted or refused; rejects only if it is aborted, and then nobody knows whether the server has it. All
   * clients of a page for the same server and key share their decisions: repeating one that is being sent waits for the
   * same answer, and a different one is refused without being sent.
   */
  decide(
    approvalId: ApprovalId,
    decision: ApprovalDecision,
    { signal }: RequestOptions = {},
  ): Promise<SettledDecision> {
    return this.#decisions.decide(this.#server, approvalId, decision, signal);
  }

  /** This page's last decision on each approval request. A new object after every change. */
  readonly getDecisions = (): Readonly<Record<ApprovalId, DecisionProgress>> => this.#decisions.progress;

  /** Calls back on every change of {@link getDecisions}, until the returned function is called. */
  readonly subscribe = (listener: () => void): (() => void) => this.#decisions.subscribe(listener);

  /** Follows the inbox, across reconnects, until the returned function is called. */
  watch({ onChange, onConnection, onError }: ApprovalsListener): () => void {
    const { stop } = followRecord(this.#server, {
      read: (signal) => this.list({}, { signal }),
      isTouchedBy: ({ type }) => type === "approvals",
      onValue: onChange,
      onConnection,
      onError,
    });
    return stop;
  }
}

function approvalPath(approvalId: ApprovalId): string {
  return `/api/approvals/${encodeURIComponent(approvalId)}`;
}
