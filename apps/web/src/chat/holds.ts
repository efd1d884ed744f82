import { getToolName, isToolUIPart, type UIMessage } from "ai";
import { ASK_USER } from "../ask/question";
import type { AnyToolPart } from "../tools/toolStatus";

/** Whether a message waits for somebody: a person's answer, or a browser's result. */
export function isHeld(message: UIMessage | undefined): boolean {
  if (message?.role !== "assistant") return false;
  return message.parts.some(
    (part) =>
      isToolUIPart(part) && ["input-available", "approval-requested", "approval-responded"].includes(part.state),
  );
}

/** Whether it waits for an answer of the person in front of the screen. */
export function isAsking(message: UIMessage | undefined): boolean {
  return (
    message?.parts.some((part) => isToolUIPart(part) && (part.state === "approval-requested" || isQuestion(part))) ??
    false
  );
}

/** Whether a call is an open question of a running tool. */
export function isQuestion(part: AnyToolPart): boolean {
  return part.state === "input-available" && getToolName(part) === ASK_USER;
}

/** Whether the model has not gone on after its last call was settled: so it is after an expiry that nobody was there to see. */
export function isUnanswered(message: UIMessage | undefined): boolean {
  const last = message?.parts.at(-1);
  return message?.role === "assistant" && last !== undefined && isToolUIPart(last) && last.state.startsWith("output-");
}
