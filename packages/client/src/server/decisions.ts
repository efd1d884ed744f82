import type { AckResponse, ApprovalId, DecisionKind, GrantId, Remember } from "../protocol.js";
import { type ApprovalDecision, kindOf } from "./approval-decision.js";
import { asHoldpointError, HoldpointError, notHoldpoint } from "./holdpoint-error.js";
import { Listeners } from "./listeners.js";
import { perServer } from "./per-server.js";
import { retryUntilResponse } from "./retry-until-response.js";
import { jsonOf, type Server } from "./server.js";

/** The progress of one of this page's decisions. */
export type DecisionProgress = {
  approvalId: ApprovalId;
  kind: DecisionKind;
  /** False for a denial only. */
  approved: boolean;
  reason?: string;
  /** For `edit`: the input that was sent. */
  input?: unknown;
  /** For `answer`: the output that was sent. */
  output?: unknown;
  /** The grant that was asked for. */
  remember?: Remember;
  /** How often it was sent. */
  attempts: number;
} & (
  | { /** Sent, without a response so far. */ state: "sending" }
  | { /** An attempt failed; it is sent again. */ state: "retrying" /** Why. */; error: HoldpointError }
  | {
      /** The server has accepted it. */
      state: "in-force";
      /** Whether the same decision was already in force. */
      ignored: boolean;
      /** The grant that it made. */
      grant?: GrantId;
    }
  | {
      /** The server has counted it, and others have to approve as well: the request is still open. */
      state: "voted";
      /** How many have approved. */
      votes: number;
      /** How many have to. */
      quorum: number;
      /** Whether it was counted before. */
      ignored: boolean;
    }
  | {
      /** The decision is not in force. */
      state: "refused";
      /** With the server's code and status, or `other-decision` if this page is sending a different one. */
      error: HoldpointError;
    }
);

/** A decision that the server has answered: it is in force, counted or refused. */
export type SettledDecision = Extract<DecisionProgress, { state: "in-force" | "voted" | "refused" }>;

/** How many settled decisions are kept. */
const KEPT = 500;

/** A decision that is being sent, for everybody who waits for its answer. */
type Sending = {
  decision: ApprovalDecision;
  settled: Promise<SettledDecision>;
  abort: AbortController;
  /** How many wait with a signal. */
  waiting: number;
  /** Whether somebody waits without one: then it is sent until the server responds. */
  isKept: boolean;
};

/** A page's decisions on one server's approval requests. */
export class Decisions {
  readonly #listeners = new Listeners();
  readonly #underWay = new Map<ApprovalId, Sending>();
  #progress: Readonly<Record<ApprovalId, DecisionProgress>> = {};

  get progress(): Readonly<Record<ApprovalId, DecisionProgress>> {
    return this.#progress;
  }

  subscribe(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  decide(
    server: Server,
    approvalId: ApprovalId,
    decision: ApprovalDecision,
    signal?: AbortSignal,
  ): Promise<SettledDecision> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const running = this.#underWay.get(approvalId);
    if (running === undefined) {
      const abort = new AbortController();
      const settled = this.#send(server, approvalId, decision, abort.signal).finally(() => {
        if (this.#underWay.get(approvalId) === sending) this.#underWay.delete(approvalId);
      });
      const sending: Sending = { decision, settled, abort, waiting: 0, isKept: false };
      this.#underWay.set(approvalId, sending);
      return this.#answerTo(approvalId, sending, signal);
    }
    if (bodyOf(running.decision) === bodyOf(decision)) return this.#answerTo(approvalId, running, signal);
    const error = new HoldpointError("other-decision", "Another decision about this request is being sent.");
    return Promise.resolve({ ...decisionOf(approvalId, decision), attempts: 0, state: "refused", error });
  }

  async #send(
    server: Server,
    approvalId: ApprovalId,
    decision: ApprovalDecision,
    aborted: AbortSignal,
  ): Promise<SettledDecision> {
    const sent = decisionOf(approvalId, decision);
    let attempts = 0;
    let failure: HoldpointError | undefined;
    const attempt = async (signal: AbortSignal) => {
      attempts += 1;
      this.#set(
        failure === undefined
          ? { ...sent, attempts, state: "sending" }
          : { ...sent, attempts, state: "retrying", error: failure },
      );
      const path = `/api/approvals/${encodeURIComponent(approvalId)}`;
      const response = await server.request(path, { method: "POST", body: decision, signal });
      const answer = await jsonOf<Partial<AckResponse> | null>(response);
      // A proxy may have responded instead of the server.
      if (answer?.ok !== true) throw notHoldpoint(response);
      return answer;
    };
    const onRetry = (error: HoldpointError) => {
      failure = error;
      this.#set({ ...sent, attempts, state: "retrying", error });
    };
    let settled: SettledDecision;
    try {
      const options = { onRetry, signal: aborted };
      const { ignored = false, votes, quorum, grant } = await retryUntilResponse(server, attempt, options);
      const isVote = votes !== undefined && quorum !== undefined && votes < quorum;
      settled = isVote
        ? { ...sent, attempts, state: "voted", votes, quorum, ignored }
        : { ...sent, attempts, state: "in-force", ignored, ...(grant !== undefined && { grant }) };
    } catch (error) {
      if (aborted.aborted) throw aborted.reason;
      settled = { ...sent, attempts, state: "refused", error: asHoldpointError(error, "http-error") };
    }
    this.#set(settled);
    return settled;
  }

  /** Waits for the answer. A decision that is no longer awaited is not sent again. */
  #answerTo(approvalId: ApprovalId, sending: Sending, signal: AbortSignal | undefined): Promise<SettledDecision> {
    if (signal === undefined) {
      sending.isKept = true;
      return sending.settled;
    }
    sending.waiting += 1;
    return new Promise((resolve, reject) => {
      const leave = () => {
        sending.waiting -= 1;
        if (sending.waiting === 0 && !sending.isKept) this.#giveUp(approvalId, sending, signal.reason);
        reject(signal.reason);
      };
      signal.addEventListener("abort", leave, { once: true });
      sending.settled.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
    });
  }

  /** From now on nothing is known of it, and the request may be decided again. */
  #giveUp(approvalId: ApprovalId, sending: Sending, reason: unknown): void {
    sending.abort.abort(reason);
    this.#underWay.delete(approvalId);
    const { [approvalId]: _, ...others } = this.#progress;
    this.#progress = others;
    this.#listeners.call();
  }

  #set(progress: DecisionProgress): void {
    const others = Object.values(this.#progress).filter(({ approvalId }) => approvalId !== progress.approvalId);
    const answered = others.filter(({ approvalId }) => !this.#underWay.has(approvalId));
    const forgotten = new Set(answered.slice(0, Math.max(0, answered.length - KEPT)));
    const kept = [...others.filter((other) => !forgotten.has(other)), progress];
    this.#progress = Object.fromEntries(kept.map((each) => [each.approvalId, each]));
    this.#listeners.call();
  }
}

function decisionOf(approvalId: ApprovalId, decision: ApprovalDecision) {
  const { reason, input, output, remember } = decision;
  return {
    approvalId,
    kind: kindOf(decision),
    approved: decision.approved !== false,
    ...(reason !== undefined && { reason }),
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    ...(remember !== undefined && { remember }),
  };
}

/** For a comparison. */
function bodyOf({ approved, input, output, reason, remember }: ApprovalDecision): string {
  return JSON.stringify([approved, input, output, reason, remember]);
}

/** All of a page's decisions for one server and key: a decision is never sent twice at once. */
export const decisionsOf = perServer(() => new Decisions());
