import { getToolName, isToolUIPart, type UIMessage } from "ai";
import { callStatus, type DecisionProgress, type ToolProgress } from "holdpoint";
import type { ChatHold, PendingApproval } from "holdpoint/protocol";
import type { ToolSpec } from "../api/types";
import type { Decide } from "../tools/ApprovalActions";
import type { Call } from "../tools/CallCard";
import type { AnyToolPart, CardState } from "../tools/callStatus";
import { cardOf } from "../tools/registry";

/** The state of a chat's calls beyond their parts: the server's record, and this page's own actions. */
export interface CallLookup {
  toolNamed: (name: string) => ToolSpec | undefined;
  holdOf: (toolCallId: string) => ChatHold | undefined;
  pendingOf: (approvalId: string) => PendingApproval | undefined;
  progressOf: (approvalId: string) => DecisionProgress | undefined;
  runOf: (toolCallId: string) => ToolProgress | undefined;
  /** `undefined` in a replay, which allows no actions. */
  actions: Actions | undefined;
}

export interface Actions {
  decide: (approvalId: string, ...decision: Parameters<Decide>) => void;
  retry: (toolCallId: string) => void;
}

/** A message's call, as recorded. */
export function callOf(part: AnyToolPart, lookup: CallLookup): Call & { approvalId: string | undefined } {
  const toolName = getToolName(part);
  const hold = lookup.holdOf(part.toolCallId);
  const approvalId = hold?.approvalId ?? part.approval?.id;
  const progress = approvalId === undefined ? undefined : lookup.progressOf(approvalId);
  const pending = approvalId === undefined ? undefined : lookup.pendingOf(approvalId);
  const waiting = hold?.state === "waiting" && hold.kind === "approval" ? hold : undefined;
  const request = pending ?? waiting;
  return {
    toolCallId: part.toolCallId,
    toolName,
    title: part.title,
    // The record has the input that runs, also before the part does.
    input: hold?.decision?.kind === "edit" ? hold.input : part.input,
    approvalId,
    progress,
    state: callStatus(part, {
      ...{ hold, decision: progress, tool: lookup.toolNamed(toolName), request: pending },
      run: lookup.runOf(part.toolCallId),
    }),
    request: request && {
      requestedAt: request.requestedAt,
      expiresAt: request.expiresAt ?? undefined,
      reason: pending?.reason ?? undefined,
    },
  };
}

export function callsOf(message: UIMessage | undefined, lookup: CallLookup): Call[] {
  return message?.parts.filter(isToolUIPart).map((part) => callOf(part, lookup)) ?? [];
}

const WAITING: readonly CardState["kind"][] = ["approval-requested", "prompted", "sending", "retrying"];

/** Whether a call waits for a person. */
export function waitsForPerson(calls: readonly Call[]): boolean {
  return calls.some(({ state }) => WAITING.includes(state.kind));
}

/** Whether a call waits for anything: a person's decision or answer, or a result of the browser or the server. */
export function isHeld(calls: readonly Call[]): boolean {
  return calls.some(({ state }) => state.kind !== "settled" && state.kind !== "ending");
}

/**
 * Whether the turn waits for a client: its last call expired while none was there. After any other outcome without an
 * answer the turn is over, and there is nothing to continue.
 */
export function isStalled(message: UIMessage | undefined): boolean {
  const last = message?.parts.at(-1);
  if (message?.role !== "assistant" || last === undefined || !isToolUIPart(last)) return false;
  const status = callStatus(last);
  return status.kind === "settled" && status.cause === "expired" && !cardOf(getToolName(last)).isUntold;
}
