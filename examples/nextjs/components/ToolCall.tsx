import { type DynamicToolUIPart, getToolName, type ToolUIPart } from "ai";
import type { FrontendCall } from "holdpoint";
import type { ChatHold } from "holdpoint/protocol";
import { browserTools } from "@/lib/browser-tools";
import { ApprovalForm, type Decide } from "./ApprovalForm";
import { type Delivery, describe } from "./describe";
import { Fields } from "./Fields";

export type ToolPart = ToolUIPart | DynamicToolUIPart;

export type ToolCallActions = {
  /** The calls that wait for a browser and that this page has not started. */
  leftOver: ReadonlySet<string>;
  /** What the server has about the calls that wait. */
  holds: readonly ChatHold[];
  onDecide: Decide;
  onRun: (call: FrontendCall) => void;
};

type Props = ToolCallActions & {
  part: ToolPart;
  /** Whether it is in the last message. A newer message replaces everything that waits in earlier ones. */
  isCurrent: boolean;
  delivery: Delivery;
};

/** A call of a tool: what it does, what became of it, and the approval request while it waits for one. */
export function ToolCall({ part, isCurrent, delivery, leftOver, holds, onDecide, onRun }: Props) {
  const toolName = getToolName(part);
  const { toolCallId, input } = part;
  const isLeftOver = isCurrent && !part.state.startsWith("output-") && leftOver.has(toolCallId);
  const isBrowserTool = browserTools.has(toolName);
  const votes = holds.find((hold) => hold.toolCallId === toolCallId)?.votes;
  const { tone, text } = describe(part, { isCurrent, isLeftOver, isBrowserTool, delivery, votes });
  return (
    <article className="call" aria-label={toolName}>
      <h2>
        {part.title ?? toolName} <span className={`badge ${tone}`}>{text}</span>
      </h2>
      <Fields value={input} />
      {part.state === "approval-requested" && isCurrent && (
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
      {part.state === "output-error" && <p className="failure">{part.errorText}</p>}
      {part.state === "output-denied" && part.approval.reason && <p>Reason: {part.approval.reason}</p>}
    </article>
  );
}
