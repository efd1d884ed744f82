import { type DynamicToolUIPart, getToolName, type ToolUIPart } from "ai";
import { type DecisionProgress, settledMetadata } from "holdpoint";
import type { Cause, ChatHold, Decision, DecisionKind, SettledMetadata } from "holdpoint/protocol";
import type { ToolSpec } from "../api/types";
import { ASK_USER } from "../prompt/prompt";

export type AnyToolPart = ToolUIPart | DynamicToolUIPart;

/** The result of a call. */
export type Result = { kind: "output"; output: unknown } | { kind: "error"; text: string } | { kind: "none" };

/** The state of a call by the server's record; `sending` and `retrying` are this page's own. */
export type CallState =
  | { kind: "preparing" }
  | { kind: "approval-requested"; mayDecide: boolean; allowed: readonly DecisionKind[] }
  /** A running tool prompts the user. */
  | { kind: "prompted" }
  | { kind: "sending"; sent: DecisionKind; allowed: readonly DecisionKind[] }
  | { kind: "retrying"; sent: DecisionKind; allowed: readonly DecisionKind[] }
  | { kind: "running"; where: "server" | "browser"; decision: Decision | undefined }
  /** Its outcome has arrived, but the record has not been read again, so the cause is still unknown. */
  | { kind: "ending" }
  /** The server no longer has a record of it, or none that this user may see: `isForeign`. */
  | { kind: "gone"; isForeign: boolean }
  | {
      kind: "settled";
      cause: Cause | undefined;
      at: string | undefined;
      decision: Decision | undefined;
      result: Result;
    };

/** The known facts about a call. */
export interface Facts {
  part?: AnyToolPart | undefined;
  hold?: ChatHold | undefined;
  /** This page's own decision. */
  progress?: DecisionProgress | undefined;
  tool?: ToolSpec | undefined;
  /** What this user may do about it, by the inbox. */
  allowed?: readonly DecisionKind[] | undefined;
}

/** Until the server has said what else is allowed. */
const PLAIN: readonly DecisionKind[] = ["approve", "deny"];

export function callStateOf({ part, hold, progress, tool, allowed: listed }: Facts): CallState {
  const waiting = hold?.state === "waiting" && hold.kind === "approval" ? hold : undefined;
  const allowed = waiting?.allowed ?? listed ?? PLAIN;
  if (hold?.state === "settled") return settledByHold(hold, part);
  if (part !== undefined && isSettled(part)) return settledByPart(part, hold);
  if (progress?.state === "sending" || progress?.state === "retrying")
    return { kind: progress.state, sent: progress.kind, allowed };
  const decision = hold?.decision;
  if (decision !== undefined) {
    return runs(decision.kind) ? { kind: "running", where: whereOf(tool), decision } : { kind: "ending" };
  }
  // The server responded with 200: it is in force, and the record will show it shortly.
  if (progress?.state === "in-force") {
    return runs(progress.kind) ? { kind: "running", where: whereOf(tool), decision: undefined } : { kind: "ending" };
  }
  if (waiting !== undefined) return requested(allowed);
  return part === undefined ? withoutPart(hold, tool, allowed) : openPart(part, hold, tool, allowed);
}

/** Whether a call runs after a decision. */
function runs(kind: DecisionKind): boolean {
  return kind === "approve" || kind === "edit";
}

function requested(allowed: readonly DecisionKind[]): CallState {
  return { kind: "approval-requested", mayDecide: allowed.length > 0, allowed };
}

function withoutPart(
  hold: ChatHold | undefined,
  tool: ToolSpec | undefined,
  allowed: readonly DecisionKind[],
): CallState {
  // In the inbox, whose list says that it is waiting.
  if (hold === undefined) return requested(allowed);
  return hold.kind === "prompt" ? { kind: "prompted" } : { kind: "running", where: whereOf(tool), decision: undefined };
}

function openPart(
  part: AnyToolPart,
  hold: ChatHold | undefined,
  tool: ToolSpec | undefined,
  allowed: readonly DecisionKind[],
): CallState {
  switch (part.state) {
    case "input-streaming":
      return { kind: "preparing" };
    case "approval-requested":
      return requested(allowed);
    case "approval-responded":
      return part.approval.approved
        ? { kind: "running", where: whereOf(tool), decision: undefined }
        : { kind: "ending" };
    // A preliminary output: it runs.
    case "output-available":
      return { kind: "running", where: whereOf(tool), decision: undefined };
    default:
      if (getToolName(part) === ASK_USER) return { kind: "prompted" };
      // A call that may need an approval is not running: its approval request has not arrived yet.
      if (hold === undefined && tool !== undefined && tool.approval !== "never") return { kind: "preparing" };
      return { kind: "running", where: whereOf(tool), decision: undefined };
  }
}

/** What a running tool has reported last. */
export function progressOf(part: AnyToolPart): unknown {
  return part.state === "output-available" && part.preliminary === true ? part.output : undefined;
}

function whereOf(tool: ToolSpec | undefined): "server" | "browser" {
  return tool?.execution === "frontend" ? "browser" : "server";
}

function isSettled(part: AnyToolPart): boolean {
  return part.state === "output-available" ? part.preliminary !== true : part.state.startsWith("output-");
}

function settledByHold({ outcome, decision }: ChatHold, part: AnyToolPart | undefined): CallState {
  const { cause, at, output, errorText } = outcome ?? {};
  const result: Result =
    errorText !== undefined
      ? { kind: "error", text: errorText }
      : output !== undefined
        ? { kind: "output", output }
        : part !== undefined && isSettled(part)
          ? resultOf(part)
          : { kind: "none" };
  return { kind: "settled", cause, at, decision, result };
}

function settledByPart(part: AnyToolPart, hold: ChatHold | undefined): CallState {
  const known = settledMetadata(part);
  if (known !== undefined) {
    const { cause, decidedBy, decidedAt } = known;
    const approval = part.approval;
    const decision: Decision | undefined =
      decidedBy.length === 0 || decidedAt === undefined
        ? undefined
        : {
            kind: decidedKind(known, approval?.approved !== false),
            by: decidedBy,
            at: decidedAt,
            ...(approval?.reason !== undefined && { reason: approval.reason }),
          };
    return { kind: "settled", cause, at: undefined, decision, result: resultOf(part) };
  }
  const result = resultOf(part);
  // An output needs no explanation; for anything else, only the record has the cause.
  if (hold !== undefined && result.kind !== "output") return { kind: "ending" };
  return { kind: "settled", cause: undefined, at: undefined, decision: hold?.decision, result };
}

/** The kind of a decision, from what the stored part has. */
function decidedKind({ cause, edited }: SettledMetadata, isApproved: boolean): DecisionKind {
  if (!isApproved) return "deny";
  if (edited) return "edit";
  return cause === "decision" ? "answer" : "approve";
}

function resultOf(part: AnyToolPart): Result {
  if (part.state === "output-available") return { kind: "output", output: part.output };
  return part.state === "output-error" ? { kind: "error", text: part.errorText } : { kind: "none" };
}
