import { isObject } from "../prompt/isObject";
import type { CallStatus } from "./callStatus";

/** The browser's report, if the tool's output is the acknowledgement itself. */
export interface AckOutcome {
  status: CallStatus;
  /** Additional details. */
  note: string | undefined;
}

/** Reads the output of a tool that returns its acknowledgement, such as `open-url`. */
export function ackOutcomeOf(output: unknown): AckOutcome | undefined {
  if (!isObject(output) || typeof output.toolCallId !== "string") return undefined;
  switch (output.status) {
    case "failed":
      return { status: { label: "Failed", tone: "bad" }, note: textOf(output.errorText) };
    case "timeout":
      return { status: { label: "Expired", tone: "bad" }, note: "No browser answered in time." };
    case "success":
      return isObject(output.output) ? pageOf(output.output) : { status: DONE, note: undefined };
    default:
      return undefined;
  }
}

const DONE: CallStatus = { label: "Done", tone: "ok" };

/** A page in the panel: the browser does not say whether a site allowed itself to be framed. */
function pageOf({ viewKey, state }: Record<string, unknown>): AckOutcome {
  if (viewKey === undefined) return { status: DONE, note: undefined };
  if (state === "loaded") return { status: { label: "Opened", tone: "ok" }, note: undefined };
  return {
    status: { label: "Opened, not confirmed", tone: "quiet" },
    note: "The browser does not report whether the site allows embedding. If the panel is empty, use New tab.",
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
