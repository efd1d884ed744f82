import type { DynamicToolUIPart, ToolUIPart } from "ai";
import type { CallStatus } from "holdpoint";
import { isObject } from "../prompt/isObject";

export type AnyToolPart = ToolUIPart | DynamicToolUIPart;

/** The state of a call in the console: what the package says, or that it has no record. */
export type CardState =
  | CallStatus
  /** The server no longer has a record of it, or none that this user may see: `isForeign`. */
  | { kind: "gone"; isForeign: boolean };

export type Tone = CallStatus["tone"];

export interface CardLabel {
  label: string;
  tone: Tone;
}

/** The card's label for the state of its call. */
export function cardLabel(state: CardState): CardLabel {
  if (state.kind === "gone") return { label: state.isForeign ? "Ended" : "Deleted", tone: "quiet" };
  return pageOf(state)?.status ?? { label: state.label, tone: state.tone };
}

/** Why a call ended that was not carried out as asked; `undefined` for one that ran, or that a person decided. */
export function endingOf(state: CardState): string | undefined {
  if (state.kind !== "settled") return undefined;
  const { cause } = state;
  return cause === undefined || cause === "ran" || cause === "result" || cause === "decision" ? undefined : state.text;
}

/** What the report of a browser says besides its result. */
export function noteOf(state: CardState): string | undefined {
  if (state.kind !== "settled" || state.result.kind !== "output") return undefined;
  const isReported = state.outcome === "failed" || state.outcome === "expired";
  return isReported ? state.text : pageOf(state)?.note;
}

/** A page in the panel: the browser does not say whether a site allowed itself to be framed. */
function pageOf(state: CallStatus): { status: CardLabel; note: string | undefined } | undefined {
  if (state.kind !== "settled" || state.outcome !== "done" || state.result.kind !== "output") return undefined;
  const ack = state.result.output;
  if (!isObject(ack) || typeof ack.toolCallId !== "string" || !isObject(ack.output)) return undefined;
  if (ack.output.viewKey === undefined) return undefined;
  if (ack.output.state === "loaded") return { status: { label: "Opened", tone: "ok" }, note: undefined };
  return {
    status: { label: "Opened, not confirmed", tone: "quiet" },
    note: "The browser does not report whether the site allows embedding. If the panel is empty, use New tab.",
  };
}
