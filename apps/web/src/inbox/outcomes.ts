import type { DecisionProgress } from "holdpoint";
import type { DecisionKind } from "holdpoint/protocol";
import type { Tone } from "../tools/callStatus";
import { refusalText } from "../tools/texts";

export interface Outcome {
  text: string;
  tone: Tone;
}

const DONE: Record<DecisionKind, string> = {
  approve: "Approved.",
  edit: "Approved with changes.",
  deny: "Denied.",
  answer: "Answered in the tool's place.",
};

/** What came of a decision of this page. */
export function outcomeText(progress: DecisionProgress | undefined): Outcome | undefined {
  switch (progress?.state) {
    case undefined:
      return undefined;
    case "sending":
      return { text: "Sending…", tone: "busy" };
    case "retrying":
      return { text: "Not confirmed: the server does not respond. It is sent again.", tone: "bad" };
    case "voted":
      return { text: `Your approval counts: ${progress.votes} of ${progress.quorum}.`, tone: "hold" };
    case "in-force":
      return { text: DONE[progress.kind], tone: progress.kind === "deny" ? "quiet" : "ok" };
    case "refused":
      return { text: refusalText(progress.kind, progress.error.status), tone: "bad" };
  }
}
