import { settledMetadata } from "holdpoint";
import type { ToolPart } from "./ToolCall";

type Description = { tone: "waiting" | "good" | "bad" | "neutral"; text: string };

/** The state of a call, in a few words. */
export function describe(
  part: ToolPart,
  context: { isCurrent: boolean; isHeldBack: boolean; isBrowserTool: boolean },
): Description {
  // Parts from the history say why the call ended. Streamed parts do not.
  switch (settledMetadata(part)?.cause) {
    case "superseded":
      return { tone: "neutral", text: "Replaced by a newer message" };
    case "expired":
      return { tone: "bad", text: "Nobody answered in time" };
    case "stopped":
      return { tone: "neutral", text: "Stopped" };
    case "interrupted":
      return { tone: "bad", text: "Interrupted: it may have been carried out" };
  }
  switch (part.state) {
    case "input-streaming":
      return { tone: "neutral", text: "Being prepared" };
    case "input-available":
      return { tone: "neutral", text: context.isBrowserTool ? "Runs in this page" : "Runs on the server" };
    case "approval-requested":
      if (!context.isCurrent) return { tone: "neutral", text: "Replaced by a newer message" };
      return { tone: "waiting", text: "Needs your approval" };
    case "approval-responded": {
      const decision = part.approval.approved ? "Approved" : "Denied";
      return { tone: "waiting", text: context.isHeldBack ? `${decision}, sent with the other decisions` : decision };
    }
    case "output-available":
      return { tone: "good", text: "Done" };
    case "output-denied":
      return { tone: "bad", text: "Denied" };
    case "output-error":
      return { tone: "bad", text: "Failed" };
  }
}
