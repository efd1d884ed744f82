import type { ToolCallId, ToolPart, UiMessage } from "../protocol.js";
import { nameOfTool, toolPartOf, toolPartsOf } from "../tools/tool-part.js";

/**
 * What the client knows besides its messages. Without it, every output counts as the client's own, and every error and
 * every tool as the server's.
 */
export type AutoSendContext = {
  /** Tools that run in this browser. If set, only their results count as the client's own. */
  frontendTools?: Iterable<string> | undefined;
  /** Calls whose outcome the server sent. If set, every other outcome is the client's own. */
  serverOutcomes?: Iterable<ToolCallId> | undefined;
  /** Answers that have already reached the server: the `answers` of earlier results. */
  sent?: Iterable<SubmissionKey> | undefined;
};

/**
 * Identifies one answer in the state in which it was sent. An approval and the result that follows it are two answers.
 */
export type SubmissionKey = `${"approval" | "result"}:${ToolCallId}`;

/** Whether to send, and which check of docs/auto-send.md applied. */
export type AutoSendResult =
  | { send: true; check: 7 | 8; answers: SubmissionKey[] }
  | { send: false; check: 1 | 2 | 3 | 4 | 5 | 6 };

/** The specification's separate confirmation part. It is an approval request, so its output is not a tool result. */
const CONFIRMATION = "adk_request_confirmation";

/** The part of a message that {@link shouldAutoSend} reads. The AI SDK's `UIMessage` and the server's message fit. */
export type AutoSendMessage = { role: string; parts: readonly { type: string }[] } | UiMessage;

/**
 * Whether a client of the adk profile should send again, given its messages. Pure. The order of the checks matters.
 * Malformed messages are never sent.
 */
export function shouldAutoSend(
  messages: readonly AutoSendMessage[] | null | undefined,
  context: AutoSendContext = {},
): AutoSendResult {
  const message = Array.isArray(messages) ? (messages as readonly (AutoSendMessage | null)[]).at(-1) : undefined;
  if (message?.role !== "assistant") return { send: false, check: 1 };

  const parts: readonly unknown[] = Array.isArray(message.parts) ? message.parts.map(withId) : [];
  const lastTool = parts.findLastIndex((part) => toolPartOf(part) !== undefined);
  if (parts.slice(lastTool + 1).some(isText)) return { send: false, check: 2 };

  const tools = toolPartsOf({ parts });
  const frontend = context.frontendTools && new Set(context.frontendTools);
  const serverOutcomes = context.serverOutcomes && new Set(context.serverOutcomes);
  const sent = new Set(context.sent);
  const isResult = (tool: ToolPart) => {
    const name = nameOfTool(tool);
    if (tool.preliminary === true || serverOutcomes?.has(tool.toolCallId)) return false;
    if (frontend !== undefined && !frontend.has(name)) return false;
    if (frontend === undefined && name === CONFIRMATION) return false;
    // Without context, treat an error as the server's: a browser's own result is nearly always an output.
    const isKnown = frontend !== undefined || serverOutcomes !== undefined;
    // A browser's result has an output. Without it, somebody else has closed the call.
    if (tool.state === "output-available") return isKnown || tool.output !== undefined;
    return tool.state === "output-error" && isKnown;
  };
  const answers = tools.filter((tool) => isDecided(tool) || isResult(tool)).map(keyOf);
  if (answers.every((answer) => sent.has(answer))) return { send: false, check: 3 };

  if (tools.some((tool) => tool.state === "approval-requested")) return { send: false, check: 4 };

  const hasConfirmed = tools.some((tool) => isDecided(tool) && nameOfTool(tool) === CONFIRMATION);
  const hasError = tools.some((tool) => tool.state === "output-error");
  const failed = tools.some((tool) => isDecided(tool) && "error" in tool);
  if ((hasConfirmed && hasError) || failed) return { send: false, check: 5 };

  const waits = (tool: ToolPart) => isDecided(tool) && tool.approval?.approved === true;
  if (tools.some((tool) => waits(tool) && frontend?.has(nameOfTool(tool)))) return { send: false, check: 6 };

  return { send: true, check: tools.some(isResult) ? 7 : 8, answers };
}

/**
 * The part with an id for its call: the specification's own examples have none. The place of the part tells them apart.
 */
function withId(part: unknown, at: number): unknown {
  if (typeof part !== "object" || part === null || "toolCallId" in part) return part;
  return { ...part, toolCallId: `#${at}` };
}

function isText(part: unknown): boolean {
  const { type, text } = (part ?? {}) as { type?: unknown; text?: unknown };
  return type === "text" && typeof text === "string";
}

function isDecided(tool: ToolPart): boolean {
  return tool.state === "approval-responded";
}

function keyOf(tool: ToolPart): SubmissionKey {
  return `${isDecided(tool) ? "approval" : "result"}:${tool.toolCallId}`;
}
