import type { UserAnswer } from "holdpoint";
import { useMemo, useRef } from "react";
import { useStore } from "../store";
import { StatusPill } from "../tools/StatusPill";
import { ToolIcon } from "../tools/ToolIcon";
import { ToolOutcome } from "../tools/ToolOutcome";
import { type AnyToolPart, toolStatus } from "../tools/toolStatus";
import { AskAnswer } from "./AskAnswer";
import { AskForm } from "./AskForm";
import { answerOf } from "./answer";
import { fieldsOf } from "./fields";
import { questionsStore } from "./openQuestions";
import { ASK_USER, questionOf } from "./question";

interface Props {
  part: AnyToolPart;
  /** A tool's name for people. */
  titleOf: (toolName: string) => string;
  /** Why the answer did not reach the server. */
  browserError: string | undefined;
  /** Asks again after that. Missing in a replay: nothing can be answered there. */
  onRetry: (() => void) | undefined;
}

/** A question of a running tool: who asks what, a form for it, and what was answered. */
export function AskCard({ part, titleOf, browserError, onRetry }: Props) {
  const card = useRef<HTMLElement>(null);
  const { toolCallId, state, input } = part;
  const answer = useStore(questionsStore).get(toolCallId);
  const question = useMemo(() => (state === "input-streaming" ? undefined : questionOf(input)), [state, input]);
  const fields = useMemo(() => (question ? fieldsOf(question) : []), [question]);
  const from = question?.from === undefined ? "A tool" : titleOf(question.from);
  const status = toolStatus(part, undefined);
  const given = state === "output-available" ? answerOf(part.output, fields) : undefined;
  const isWaiting = state === "input-available" && question !== undefined;

  const send = (given: UserAnswer) => {
    answer?.(given);
    // The form goes away; whoever used it by keyboard stays at this card.
    card.current?.focus();
  };
  return (
    <section
      ref={card}
      className="tool-card"
      data-tone={status.tone}
      data-state={state}
      data-tool={ASK_USER}
      data-call={toolCallId}
      aria-label={`${from} asks you: ${status.label}`}
      tabIndex={-1}
    >
      <header className="tool-card__head">
        <span className="tool-card__icon">
          <ToolIcon name={ASK_USER} />
        </span>
        <h2 className="tool-card__title">
          {from} asks you
          {question?.from !== undefined && <code className="tool-card__name">{question.from}</code>}
        </h2>
        <StatusPill status={status} />
      </header>
      {question && <p className="ask__message">{question.message}</p>}
      {isWaiting && onRetry && (
        <AskForm fields={fields} subject={question.message} isOpen={answer !== undefined} onAnswer={send} />
      )}
      {isWaiting && !onRetry && (
        <p className="tool-card__note">The question stands open at this point of the capture.</p>
      )}
      {given ? <AskAnswer answer={given} /> : <ToolOutcome part={part} title={`the question of ${from}`} />}
      {isWaiting && browserError !== undefined && (
        <>
          <p className="tool-card__error" role="alert">
            {browserError}
          </p>
          {answer === undefined && onRetry && (
            <button type="button" className="button" onClick={onRetry}>
              Try again
            </button>
          )}
        </>
      )}
    </section>
  );
}
