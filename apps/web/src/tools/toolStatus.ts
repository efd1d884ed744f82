import { type DynamicToolUIPart, getToolName, type ToolUIPart } from "ai";
import type { ToolInfo } from "../api/types";
import { ASK_USER } from "../ask/question";

export type AnyToolPart = ToolUIPart | DynamicToolUIPart;

export type Tone = "quiet" | "busy" | "hold" | "ok" | "bad";

export interface ToolStatus {
  label: string;
  tone: Tone;
}

/** What a card says about its call, in a word or two. */
export function toolStatus(part: AnyToolPart, tool: ToolInfo | undefined): ToolStatus {
  switch (part.state) {
    case "input-streaming":
      return { label: "Preparing", tone: "busy" };
    case "input-available":
      if (getToolName(part) === ASK_USER) return { label: "Waits for you", tone: "hold" };
      // A call that has to be approved is not running: its question is on its way.
      if (tool !== undefined && tool.approval !== "never") return { label: "Preparing", tone: "busy" };
      return running(tool);
    case "approval-requested":
      return { label: "Waits for you", tone: "hold" };
    case "approval-responded":
      return part.approval.approved ? running(tool) : { label: "Denied", tone: "bad" };
    case "output-denied":
      return { label: "Denied", tone: "bad" };
    case "output-error":
      return { label: failure(part.errorText), tone: "bad" };
    case "output-available":
      return getToolName(part) === ASK_USER ? answered(part.output) : outcome(part.output);
  }
}

function running(tool: ToolInfo | undefined): ToolStatus {
  return { label: tool?.execution === "frontend" ? "In your browser" : "Running", tone: "busy" };
}

function failure(text: string): string {
  if (text.startsWith("User denied")) return "Denied";
  if (/timed? ?out/i.test(text)) return "Expired";
  if (/superseded|no longer asked/i.test(text)) return "Withdrawn";
  if (/stopped|aborted|cancel/i.test(text)) return "Stopped";
  return "Failed";
}

function answered(output: unknown): ToolStatus {
  const action = typeof output === "object" && output !== null && "action" in output ? output.action : undefined;
  if (action === "accept") return { label: "Answered", tone: "ok" };
  return { label: action === "decline" ? "Declined" : "Put away", tone: "quiet" };
}

/** Some outputs are a failure told as a value. */
function outcome(output: unknown): ToolStatus {
  if (typeof output === "object" && output !== null) {
    if ("success" in output && output.success === false) return { label: "Not done", tone: "bad" };
    if ("status" in output && output.status === "timeout") return { label: "Expired", tone: "bad" };
    if ("status" in output && output.status === "failed") return { label: "Failed", tone: "bad" };
  }
  return { label: "Done", tone: "ok" };
}
