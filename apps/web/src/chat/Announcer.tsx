import { isToolUIPart, type UIMessage } from "ai";
import { useEffect, useRef, useState } from "react";
import { promptOf } from "../prompt/prompt";
import { visible } from "../text/runs";
import { subjectOf } from "../tools/subject";
import { type CallLookup, callOf } from "./callRecords";
import type { Delay } from "./delay";
import { textOf } from "./messageText";
import { nextSpeech } from "./speech";

interface Props {
  message: UIMessage | undefined;
  isStreaming: boolean;
  delay: Delay | undefined;
  lookup: CallLookup;
}

/** Announces new text, delays, approval requests and prompts to screen readers. */
export function Announcer({ message, isStreaming, delay, lookup }: Props) {
  const [speech, setSpeech] = useState("");
  // Text that was there when the chat was opened is not announced.
  const spoken = useRef({ id: message?.id, length: message ? textOf(message).length : 0 });

  useEffect(() => {
    if (message?.role !== "assistant") return;
    if (spoken.current.id !== message.id) spoken.current = { id: message.id, length: 0 };
    const next = nextSpeech(textOf(message), spoken.current.length, !isStreaming);
    if (next === "") return;
    spoken.current.length += next.length;
    setSpeech(visible(next));
  }, [message, isStreaming]);

  const titleOf = (name: string) => visible(lookup.toolNamed(name)?.title ?? name);
  const waiting = (message?.parts.filter(isToolUIPart) ?? []).flatMap((part) => {
    const { state, toolName, title, input } = callOf(part, lookup);
    if (state.kind === "approval-requested" && state.mayDecide) {
      const tool = lookup.toolNamed(toolName);
      return [`Approval needed: ${subjectOf(title ?? tool?.title ?? toolName, input, tool?.inputSchema)}`];
    }
    const prompt = state.kind === "prompted" ? promptOf(input) : undefined;
    return prompt ? [`${titleOf(prompt.from ?? "A tool")} asks: ${visible(prompt.message)}`] : [];
  });
  return (
    <>
      <p className="visually-hidden" aria-live="polite" data-testid="speech">
        {speech}
      </p>
      <p className="visually-hidden" aria-live="polite" data-testid="delay">
        {delay && visible(delay.message)}
      </p>
      <p className="visually-hidden" aria-live="assertive" data-testid="question">
        {waiting.join(". ")}
      </p>
    </>
  );
}
