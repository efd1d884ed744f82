import type { AckResponse, ApprovalId, DecisionRequest } from "../protocol.js";
import { Listeners } from "./listeners.js";
import { perServer } from "./per-server.js";
import { repeatUntilAnswered } from "./repeat.js";
import { Server } from "./server.js";
import type { ServerOptions } from "./server-options.js";

/** Where one decision of this page stands. */
export type DecisionReport = {
  approvalId: ApprovalId;
  approved: boolean;
  reason?: string;
  /** How often it was sent. */
  attempts: number;
} & (
  | { /** It was sent, and is not answered yet. */ state: "sending" }
  | { /** The server did not take it so far; it is sent again. */ state: "retrying" /** Why. */; error: Error }
  | {
      /** The server has taken it. */
      state: "in-force";
      /** Whether the same decision was in force before. */
      ignored: boolean;
    }
  | {
      /** It is not in force. */
      state: "refused";
      /** Why: a `ServerError` with the status, or, where another decision of this page is under way, another error. */
      error: Error;
    }
);

/** A decision that was answered. */
export type SettledDecision = Extract<DecisionReport, { state: "in-force" | "refused" }>;

/** How many answered decisions are kept. */
const KEPT = 500;

/** The decisions of a page about one server's approval requests. */
class Decisions {
  readonly #listeners = new Listeners();
  readonly #underWay = new Map<ApprovalId, { decision: DecisionRequest; settled: Promise<SettledDecision> }>();
  #reports: Readonly<Record<ApprovalId, DecisionReport>> = {};

  get reports(): Readonly<Record<ApprovalId, DecisionReport>> {
    return this.#reports;
  }

  subscribe(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  decide(server: Server, approvalId: ApprovalId, decision: DecisionRequest): Promise<SettledDecision> {
    const running = this.#underWay.get(approvalId);
    if (running === undefined) {
      const settled = this.#send(server, approvalId, decision).finally(() => this.#underWay.delete(approvalId));
      this.#underWay.set(approvalId, { decision, settled });
      return settled;
    }
    if (running.decision.approved === decision.approved && running.decision.reason === decision.reason) {
      return running.settled;
    }
    const error = new Error("Another decision about this request is being sent.");
    return Promise.resolve({ ...reportOf(approvalId, decision), attempts: 0, state: "refused", error });
  }

  async #send(server: Server, approvalId: ApprovalId, decision: DecisionRequest): Promise<SettledDecision> {
    const report = reportOf(approvalId, decision);
    let attempts = 0;
    let failure: Error | undefined;
    const attempt = async (signal: AbortSignal) => {
      attempts += 1;
      this.#report(
        failure === undefined
          ? { ...report, attempts, state: "sending" }
          : { ...report, attempts, state: "retrying", error: failure },
      );
      const path = `/api/approvals/${encodeURIComponent(approvalId)}`;
      const response = await server.request(path, { method: "POST", body: decision, signal });
      const answer = (await response.json()) as Partial<AckResponse> | null;
      // Something between here and the server may answer in its place.
      if (answer?.ok !== true) throw new Error("The server's answer was not understood.");
      return answer;
    };
    const onRetry = (error: Error) => {
      failure = error;
      this.#report({ ...report, attempts, state: "retrying", error });
    };
    let settled: SettledDecision;
    try {
      const { ignored = false } = await repeatUntilAnswered(server, attempt, { onRetry });
      settled = { ...report, attempts, state: "in-force", ignored };
    } catch (error) {
      settled = { ...report, attempts, state: "refused", error: error as Error };
    }
    this.#report(settled);
    return settled;
  }

  #report(report: DecisionReport): void {
    const others = Object.values(this.#reports).filter(({ approvalId }) => approvalId !== report.approvalId);
    const answered = others.filter(({ approvalId }) => !this.#underWay.has(approvalId));
    const forgotten = new Set(answered.slice(0, Math.max(0, answered.length - KEPT)));
    const kept = [...others.filter((other) => !forgotten.has(other)), report];
    this.#reports = Object.fromEntries(kept.map((each) => [each.approvalId, each]));
    this.#listeners.call();
  }
}

function reportOf(approvalId: ApprovalId, { approved, reason }: DecisionRequest) {
  return { approvalId, approved, ...(reason !== undefined && { reason }) };
}

const decisionsOf = perServer(() => new Decisions());

/**
 * Decides approval requests. A decision is repeated until the server has answered it, for as long as the page lives, whatever is
 * rendered. All deciders of a page for the same server and key are one: a decision is never sent twice at once.
 */
export class Decider {
  readonly #server: Server;
  readonly #decisions: Decisions;

  constructor(options: ServerOptions = {}) {
    this.#server = new Server(options);
    this.#decisions = decisionsOf(options);
  }

  /** The last decision of this page about each request. Another object after every change. */
  readonly getReports = (): Readonly<Record<ApprovalId, DecisionReport>> => this.#decisions.reports;

  /** Calls back at every change, until the returned function is called. */
  readonly subscribe = (listener: () => void): (() => void) => this.#decisions.subscribe(listener);

  /**
   * Decides one. Resolves once the decision is in force or refused, and never rejects. The same decision again, while it is under way, is
   * that one; another is refused without being sent.
   */
  decide(approvalId: ApprovalId, decision: DecisionRequest): Promise<SettledDecision> {
    return this.#decisions.decide(this.#server, approvalId, decision);
  }
}
