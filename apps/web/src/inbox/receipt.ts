import { type CallStatus, callStatus, type DecisionProgress } from "holdpoint";
import type { ApprovalRecord, Decision, DecisionKind } from "holdpoint/protocol";
import type { ToolSpec } from "../api/types";
import { visible } from "../text/runs";
import { cardLabel, endingOf, type Tone } from "../tools/callStatus";
import { type Presented, present } from "./entry";

/** The input that the call of a request runs with, or would. */
export function inputOf({ approval, editedInput }: ApprovalRecord): unknown {
  return editedInput === undefined ? approval.input : editedInput;
}

/** A request by its record. What runs is named, not what was asked for before an edit. */
export function presentRecord(record: ApprovalRecord, tool?: ToolSpec): Presented {
  return present({ ...record.approval, input: inputOf(record) }, tool);
}

/** The state of a request's call, by its record. */
export function recordedState(record: ApprovalRecord, tool?: ToolSpec): CallStatus {
  return callStatus(undefined, { record, tool });
}

const DONE: Record<DecisionKind, string> = {
  approve: "Approved",
  edit: "Approved with changes",
  deny: "Denied",
  answer: "Answered in the tool's place",
};

/** `Denied by carol`. */
export function decisionText({ kind, by, grant }: Pick<Decision, "kind" | "by" | "grant">): string {
  return grant === undefined ? `${DONE[kind]} by ${namesText(by)}` : `Approved by a grant of ${namesText(by)}`;
}

/** `ann, bob and carol`. */
export function namesText(names: readonly string[]): string {
  const shown = names.map(visible);
  return shown.length < 2 ? shown.join() : `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}`;
}

/** What came of a call after its approval, in a few words; `undefined` if it did not run, or nothing is known. */
export function outcomeOf(state: CallStatus): { text: string; tone: Tone } | undefined {
  if (state.kind === "running") return { text: `${cardLabel(state).label}…`, tone: "busy" };
  if (state.kind !== "settled" || state.cause === "decision") return undefined;
  const { label, tone } = cardLabel(state);
  const error = state.result.kind === "error" ? visible(state.result.text) : undefined;
  const why = endingOf(state) ?? error;
  return { text: why === undefined ? `${label}.` : `${label}: ${why}`, tone };
}

/** What a decision of this page has come to, and what came of the call. */
export interface Followed {
  /** `Approved.` */
  text: string;
  /** `Failed: The endpoint answered 500` */
  outcome: string | undefined;
  tone: Tone;
}

/** `undefined` before anything was decided. */
export function followedOf(
  progress: DecisionProgress | undefined,
  said: { text: string; tone: Tone } | undefined,
  record: ApprovalRecord | undefined,
  tool: ToolSpec | undefined,
): Followed | undefined {
  if (progress === undefined || said === undefined) return undefined;
  const decision = record?.decision;
  const came = record && outcomeOf(recordedState(record, tool));
  const isOwn = progress.state === "in-force" && !progress.ignored;
  const isAnswered = progress.state === "in-force" || progress.state === "voted" || progress.state === "refused";
  if (!isAnswered || isOwn) return { text: said.text, outcome: came?.text, tone: worse(said.tone, came?.tone) };
  // Somebody else's decision is in force, or theirs made this one complete.
  const text = decision ? `${decisionText(decision)}.` : said.text;
  const lead = progress.state === "refused" && decision ? "Yours was not accepted. " : "";
  const tone = progress.state === "refused" ? "bad" : decision?.kind === "deny" ? "quiet" : decision ? "ok" : said.tone;
  return { text: `${lead}${text}`, outcome: came?.text, tone: worse(tone, came?.tone) };
}

/** A failure is what has to be seen; otherwise what came last. */
function worse(one: Tone, other: Tone | undefined): Tone {
  return one === "bad" || other === undefined ? one : other;
}
