import { getToolName, isToolUIPart, type UIMessage } from "ai";
import { useEffect, useRef, useState } from "react";
import type { ToolInfo } from "../api/types";
import { questionOf } from "../ask/question";
import { isQuestion } from "./holds";
import { textOf } from "./messageText";
import { nextSpeech } from "./speech";

interface Props {
  message: UIMessage | undefined;
  isStreaming: boolean;
  toolNamed: (name: string) => ToolInfo | undefined;
}

/** Tells screen readers what is written and what is asked. */
export function Announcer({ message, isStreaming, toolNamed }: Props) {
  const [speech, setSpeech] = useState("");
  // What was there when the chat was opened is read by whoever wants to, not aloud.
  const spoken = useRef({ id: message?.id, length: message ? textOf(message).length : 0 });

  useEffect(() => {
    if (message?.role !== "assistant") return;
    if (spoken.current.id !== message.id) spoken.current = { id: message.id, length: 0 };
    const next = nextSpeech(textOf(message), spoken.current.length, !isStreaming);
    if (next === "") return;
    spoken.current.length += next.length;
    setSpeech(next);
  }, [message, isStreaming]);

  const calls = message?.parts.filter(isToolUIPart) ?? [];
  const titleOf = (name: string) => toolNamed(name)?.title ?? name;
  const approvals = calls
    .filter(({ state }) => state === "approval-requested")
    .map((part) => titleOf(getToolName(part)));
  const questions = calls.filter(isQuestion).flatMap(({ input }) => {
    const question = questionOf(input);
    return question ? [`${titleOf(question.from ?? "A tool")} asks: ${question.message}`] : [];
  });
  const needed = approvals.length > 0 ? [`Approval needed: ${approvals.join(", ")}`] : [];
  return (
    <>
      <p className="visually-hidden" aria-live="polite" data-testid="speech">
        {speech}
      </p>
      <p className="visually-hidden" aria-live="assertive" data-testid="question">
        {[...needed, ...questions].join(". ")}
      </p>
    </>
  );
}
