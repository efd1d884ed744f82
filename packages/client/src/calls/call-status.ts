import type {
  Allowed,
  ApprovalId,
  ApprovalRecord,
  Cause,
  ChatHold,
  Decision,
  DecisionKind,
  PendingApproval,
  SettledMetadata,
  ToolCallId,
  ToolPart,
  ToolSpec,
  Votes,
} from "../protocol.js";
import type { DecisionProgress } from "../server/decisions.js";
import type { HoldpointError } from "../server/holdpoint-error.js";
import { ASK_USER } from "../tools/ask-user.js";
import type { ToolProgress } from "../tools/frontend-tool-executor.js";
import { isSettled, nameOfTool, toolPartOf } from "../tools/tool-part.js";
import { type CallWords, refusalText, unconfirmedText, wordsFor } from "./call-words.js";
import { settledMetadata } from "./settled-metadata.js";

/** What came of a call. */
export type CallResult = { kind: "output"; output: unknown } | { kind: "error"; text: string } | { kind: "none" };

/** How a call ended. */
export type CallOutcome =
  /** It was carried out. */
  | "done"
  /** The tool ran, and says in its output that it did not do it: `success` is false. */
  | "not-done"
  | "failed"
  /** The approval was all that there was to do. */
  | "approved"
  /** A person answered in the tool's place. Nothing ran. */
  | "answered"
  | "denied"
  /** Nobody decided, or no browser answered, in time. */
  | "expired"
  | "stopped"
  /** A newer message, or another attempt, replaced it. Nobody denied it. */
  | "superseded"
  /** It was cut off, or got no usable answer. Nobody knows whether it was carried out. */
  | "interrupted"
  /** Nothing ran: the server refused it (`cause` is `refused`), or the part does not say why. */
  | "not-run";

/** What is wrong with something that this page sent about a call. */
export type CallTrouble = { /** What it means, and what to do. */ text: string } & (
  | { /** The decision got no response so far. It is sent again. */ kind: "unconfirmed"; error: HoldpointError }
  | { /** The decision is not in force. */ kind: "refused"; error: HoldpointError }
  | { /** The handler failed, or its result did not reach the server. */ kind: "undelivered"; error: Error }
);

/** The state of a call: the server's record, except for what this page is sending. */
export type CallState =
  /** The model is writing the input, or the approval request has not arrived yet. */
  | { kind: "preparing" }
  | {
      /** It waits for a person's decision. */
      kind: "approval-requested";
      approvalId: ApprovalId | undefined;
      /** What this user may do about it. */
      allowed: readonly Allowed[];
      /** Whether this user may decide it. */
      mayDecide: boolean;
      /** Whether this user has approved it, and others have to as well. */
      hasVoted: boolean;
      /** The approvals so far, if it takes several. */
      votes: Votes | undefined;
      /** ISO 8601. */
      expiresAt: string | undefined;
    }
  /** A running tool prompts the user. */
  | { kind: "prompted" }
  /** A decision of this page is on its way; `retrying`: the server has not confirmed it. */
  | { kind: "sending" | "retrying"; sent: DecisionKind; allowed: readonly Allowed[] }
  | {
      kind: "running";
      where: "server" | "browser";
      decision: Decision | undefined;
      /** What the tool has reported last. */
      progress: unknown;
    }
  /** It has ended, and why is not known before the server's record is read again. */
  | { kind: "ending" }
  | {
      kind: "settled";
      outcome: CallOutcome;
      /** Why it ended; `undefined` if only its result is known. */
      cause: Cause | undefined;
      /** When. ISO 8601. */
      at: string | undefined;
      decision: Decision | undefined;
      result: CallResult;
    };

type Settled = Extract<CallState, { kind: "settled" }>;

/** What is going on with a call, as data and in words. */
export type CallStatus = CallState & CallWords & { trouble: CallTrouble | undefined };

/** What is known of a call beside its part. The more is given, the more exact the answer is. */
export type CallContext = {
  /** The server's record of the call, from `holds`. */
  hold?: ChatHold | undefined;
  /** The server's record of its approval request, from `useApproval` or `approvals.record`. */
  record?: ApprovalRecord | undefined;
  /** Its open approval request, from the inbox. */
  request?: Pick<PendingApproval, "approvalId" | "allowed" | "votes" | "expiresAt"> | undefined;
  /** This page's decision about it, from `decisions`. */
  decision?: DecisionProgress | undefined;
  /** Its progress in this browser, from `toolRuns`. */
  run?: ToolProgress | undefined;
  /** Its tool, from `tools`. */
  tool?: Pick<ToolSpec, "execution" | "approval"> | undefined;
  /** Who this user is: `subject` of `me()`. An approver who has approved waits for the others. */
  subject?: string | undefined;
  /** A newer message has replaced it, if the application knows that before the record is read. */
  isSuperseded?: boolean | undefined;
};

/** Until the server has said what else is allowed. */
const PLAIN: readonly Allowed[] = ["approve", "deny"];

/**
 * What is going on with a call: whether it waits, runs or has ended, and how; with a short `label`, a `text` and a `tone`.
 * `part` is the tool part of a message, of any version of the SDK, or `undefined` where there is none, as in an inbox.
 */
export function callStatus(
  part: { type: string; toolCallId: ToolCallId } | undefined,
  context: CallContext = {},
): CallStatus {
  const state = stateOf(part && toolPartOf(part), context);
  const trouble = troubleOf(state, context);
  return { ...state, trouble, ...wordsFor(state, trouble) };
}

function stateOf(part: ToolPart | undefined, context: CallContext): CallState {
  const { request, decision: progress, tool } = context;
  const hold = context.hold ?? (context.record && holdOf(context.record));
  const waiting = hold?.state === "waiting" && hold.kind === "approval" ? hold : undefined;
  const allowed = waiting?.allowed ?? request?.allowed ?? PLAIN;
  const running = (decision?: Decision): CallState => ({
    kind: "running",
    where: tool?.execution === "frontend" ? "browser" : "server",
    decision,
    progress: part?.preliminary === true ? part.output : undefined,
  });
  if (hold?.state === "settled") return settledByHold(hold, part);
  if (part !== undefined && isSettled(part)) return settledByPart(part, hold);
  if (context.isSuperseded) return settled("superseded", { kind: "none" });
  if (progress?.state === "sending" || progress?.state === "retrying")
    return { kind: progress.state, sent: progress.kind, allowed };
  if (hold?.decision !== undefined) return runsAfter(hold.decision.kind) ? running(hold.decision) : { kind: "ending" };
  // The server responded with 200: it is in force, and the record will show it shortly.
  if (progress?.state === "in-force") return runsAfter(progress.kind) ? running() : { kind: "ending" };
  const requested = (): CallState => {
    const votes = votesOf(waiting?.votes ?? request?.votes, progress);
    const isCounted = context.subject !== undefined && votes?.by.includes(context.subject) === true;
    return {
      kind: "approval-requested",
      approvalId: waiting?.approvalId ?? request?.approvalId ?? part?.approval?.id,
      allowed,
      mayDecide: allowed.length > 0,
      hasVoted: isCounted || progress?.state === "voted",
      votes,
      expiresAt: waiting?.expiresAt ?? request?.expiresAt ?? undefined,
    };
  };
  if (waiting !== undefined) return requested();
  if (part === undefined) {
    if (hold !== undefined) return hold.kind === "prompt" ? { kind: "prompted" } : running();
    return request === undefined ? { kind: "preparing" } : requested();
  }
  switch (part.state) {
    case "input-streaming":
      return { kind: "preparing" };
    case "approval-requested":
      return requested();
    case "approval-responded":
      return part.approval?.approved === true ? running() : { kind: "ending" };
    // A preliminary output: it runs.
    case "output-available":
      return running();
    default:
      if (nameOfTool(part) === ASK_USER) return { kind: "prompted" };
      // A call that may need an approval is not running: its approval request has not arrived yet.
      if (hold === undefined && tool !== undefined && tool.approval !== "never") return { kind: "preparing" };
      return running();
  }
}

/** Whether a call runs after a decision. */
function runsAfter(kind: DecisionKind): boolean {
  return kind === "approve" || kind === "edit";
}

/** The record counts the votes that others have given since this page's own. */
function votesOf(recorded: Votes | undefined, progress: DecisionProgress | undefined): Votes | undefined {
  if (progress?.state !== "voted" || (recorded?.by.length ?? 0) >= progress.votes) return recorded;
  return { by: recorded?.by ?? [], quorum: progress.quorum };
}

/** A request's record, as that of its call. */
function holdOf({ approval, state, decision, editedInput, outcome }: ApprovalRecord): ChatHold {
  const { toolCallId, toolName, approvalId, requestedAt, expiresAt, allowed, votes } = approval;
  return {
    ...{ toolCallId, toolName, approvalId, requestedAt, allowed, state },
    input: editedInput === undefined ? approval.input : editedInput,
    kind: "approval",
    cut: false,
    ...(expiresAt && { expiresAt }),
    ...(votes && { votes }),
    ...(decision && { decision }),
    ...(outcome && { outcome }),
  };
}

function settledByHold({ outcome, decision }: ChatHold, part: ToolPart | undefined): CallState {
  const { cause, at, output, errorText } = outcome ?? {};
  const result: CallResult =
    errorText !== undefined
      ? { kind: "error", text: errorText }
      : output !== undefined
        ? { kind: "output", output }
        : part !== undefined && isSettled(part)
          ? resultOf(part)
          : { kind: "none" };
  return settled(cause, result, decision, at);
}

function settledByPart(part: ToolPart, hold: ChatHold | undefined): CallState {
  const known = settledMetadata(part);
  const result = resultOf(part);
  if (known !== undefined) return settled(known.cause, result, decisionOf(part, known));
  // An output needs no explanation; for anything else, only the record has the cause.
  if (hold !== undefined && result.kind !== "output") return { kind: "ending" };
  const status = settled(undefined, result, hold?.decision);
  // A decision of this client itself, which the server has carried out.
  const isDenied = part.state === "output-denied" && part.approval?.approved === false;
  return isDenied ? { ...status, outcome: "denied" } : status;
}

function settled(cause: Cause | undefined, result: CallResult, decision?: Decision, at?: string): Settled {
  return { kind: "settled", outcome: outcomeOf(cause, result, decision), cause, at, decision, result };
}

function decisionOf({ approval }: ToolPart, known: SettledMetadata): Decision | undefined {
  const { decidedBy, decidedAt, grant } = known;
  if (decidedBy.length === 0 || decidedAt === undefined) return undefined;
  return {
    kind: kindOfDecision(known, approval?.approved !== false),
    by: decidedBy,
    at: decidedAt,
    ...(approval?.reason !== undefined && { reason: approval.reason }),
    ...(grant !== undefined && { grant }),
  };
}

/** The kind of a decision, from what the stored part has. */
function kindOfDecision({ cause, edited }: SettledMetadata, isApproved: boolean): DecisionKind {
  if (!isApproved) return "deny";
  if (edited) return "edit";
  return cause === "decision" ? "answer" : "approve";
}

function resultOf(part: ToolPart): CallResult {
  if (part.state === "output-available") return { kind: "output", output: part.output };
  return part.state === "output-error" ? { kind: "error", text: part.errorText ?? "" } : { kind: "none" };
}

function outcomeOf(cause: Cause | undefined, result: CallResult, decision: Decision | undefined): CallOutcome {
  switch (cause) {
    case "decision":
      if (decision?.kind === "answer") return "answered";
      return decision?.kind === "approve" ? "approved" : "denied";
    case "expired":
    case "stopped":
    case "superseded":
    case "interrupted":
      return cause;
    case "refused":
      return "not-run";
    case "ran":
    case "result":
    case undefined:
      if (result.kind === "output") return outcomeOfOutput(result.output);
      return result.kind === "error" ? "failed" : "not-run";
  }
}

/** Some outputs report a failure as a value: the acknowledgement of a browser, and what says `success: false`. */
function outcomeOfOutput(output: unknown): CallOutcome {
  if (typeof output !== "object" || output === null) return "done";
  const { toolCallId, status, success } = output as Partial<Record<string, unknown>>;
  if (typeof toolCallId === "string") {
    if (status === "failed") return "failed";
    if (status === "timeout") return "expired";
    if (status === "success") return "done";
  }
  return success === false ? "not-done" : "done";
}

function troubleOf(state: CallState, { decision, run }: CallContext): CallTrouble | undefined {
  if (state.kind === "retrying" && decision?.state === "retrying")
    return { kind: "unconfirmed", error: decision.error, text: unconfirmedText(decision.kind) };
  if (decision?.state === "refused")
    return { kind: "refused", error: decision.error, text: refusalText(decision.kind, decision.error.status) };
  if (run?.error !== undefined && state.kind !== "settled")
    return { kind: "undelivered", error: run.error, text: run.error.message };
  return undefined;
}
