import { type DynamicToolUIPart, getToolName, type ToolUIPart } from "ai";
import { callStatus, type FrontendCall } from "holdpoint";
import type { ChatHold } from "holdpoint/protocol";
import { browserTools } from "@/lib/browser-tools";
import { ApprovalForm, type Decide } from "./ApprovalForm";
import { Fields } from "./Fields";

/** Whether the decisions of a message are on their way to the server. */
type Delivery = "held-back" | "open" | "failed" | "none";

/** A decision counts when the server has it. `useChat` shows it before that. */
const DELIVERY: Record<Exclude<Delivery, "none">, string> = {
  "held-back": "sent with the other decisions",
  open: "waiting for the server",
  failed: "not confirmed by the server",
};

export type ToolCallActions = {
  /** The calls that wait for a browser and that this page has not started. */
  leftOver: ReadonlySet<string>;
  /** What the server has about the calls that wait. */
  holds: readonly ChatHold[];
  onDecide: Decide;
  onRun: (call: FrontendCall) => void;
};

type Props = ToolCallActions & {
  part: ToolUIPart | DynamicToolUIPart;
  /** Whether it is in the last message. A newer message replaces everything that waits in earlier ones. */
  isCurrent: boolean;
  delivery: Delivery;
};

/** A call of a tool: what it does, what became of it, and the approval request while it waits for one. */
export function ToolCall({ part, isCurrent, delivery, leftOver, holds, onDecide, onRun }: Props) {
  const toolName = getToolName(part);
  const { toolCallId, input } = part;
  const isEnded = part.state.startsWith("output-");
  const isLeftOver = isCurrent && !isEnded && leftOver.has(toolCallId);
  const isBrowserTool = browserTools.has(toolName);
  const status = callStatus(part, {
    hold: isEnded ? undefined : holds.find((hold) => hold.toolCallId === toolCallId),
    tool: { execution: isBrowserTool ? "frontend" : "server", approval: "never" },
    // The part stays as it was until the history is read again.
    isSuperseded: !isCurrent,
  });
  const isSent = part.state !== "approval-responded" || delivery === "none";
  const label = isSent ? status.label : `${part.approval.approved ? "Approved" : "Denied"}, ${DELIVERY[delivery]}`;
  return (
    <article className="call" aria-label={toolName}>
      <h2>
        {part.title ?? toolName}{" "}
        <span className={`badge ${status.tone}`}>{isLeftOver ? "Waits for this page" : label}</span>
      </h2>
      <Fields value={input} />
      {isSent && !isLeftOver && part.state !== "output-available" && <p className="words">{status.text}</p>}
      {part.state === "approval-requested" && status.kind === "approval-requested" && (
        <ApprovalForm approval={part.approval} onDecide={onDecide} />
      )}
      {isLeftOver && (
        <button type="button" onClick={() => onRun({ toolName, toolCallId, input })}>
          Run it in this page
        </button>
      )}
      {part.state === "output-available" && (
        <details>
          <summary>Output</summary>
          <Fields value={part.output} />
        </details>
      )}
      {part.state === "output-denied" && part.approval.reason && <p>Reason: {part.approval.reason}</p>}
    </article>
  );
}
