import { settledMetadata } from "holdpoint";
import type { Votes } from "holdpoint/protocol";
import type { ToolPart } from "./ToolCall";

type Description = { tone: "waiting" | "good" | "bad" | "neutral"; text: string };

/** Whether the decisions of a message are on their way to the server. */
export type Delivery = "held-back" | "open" | "failed" | "none";

const DELIVERY: Record<Delivery, string> = {
  "held-back": ", sent with the other decisions",
  open: ", waiting for the server",
  failed: ", not confirmed by the server",
  none: "",
};

/** The state of a call, in a few words. A decision counts when the server has it, so the words say whether it does. */
export function describe(
  part: ToolPart,
  context: {
    isCurrent: boolean;
    isLeftOver: boolean;
    isBrowserTool: boolean;
    delivery: Delivery;
    /** The approvals so far, of a call that takes several. */
    votes: Votes | undefined;
  },
): Description {
  if (context.isLeftOver) return { tone: "waiting", text: "Waits for this page" };
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
      if (context.votes?.by.length) {
        const { by, quorum } = context.votes;
        return { tone: "waiting", text: `${by.length} of ${quorum} have approved: ${by.join(", ")}` };
      }
      return { tone: "waiting", text: "Needs your approval" };
    case "approval-responded": {
      const decision = part.approval.approved ? "Approved" : "Denied";
      return { tone: "waiting", text: `${decision}${DELIVERY[context.delivery]}` };
    }
    case "output-available":
      return { tone: "good", text: "Done" };
    case "output-denied":
      return { tone: "bad", text: "Denied" };
    case "output-error":
      return { tone: "bad", text: "Failed" };
  }
}
