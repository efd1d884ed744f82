import type { UserAnswer } from "holdpoint";
import { MessageCircleQuestionMark } from "lucide-react";
import { useMemo, useRef } from "react";
import { type CallLookup, callOf } from "../chat/callRecords";
import { blankDraft } from "../form/draft";
import { useStore } from "../store";
import { visible } from "../text/runs";
import { Untrusted } from "../text/Untrusted";
import { CallOutcome } from "../tools/CallOutcome";
import { type AnyToolPart, type CardLabel, type CardState, cardLabel } from "../tools/callStatus";
import { guardDecisions } from "../tools/guard";
import { StatusPill } from "../tools/StatusPill";
import { answerOf, type GivenAnswer } from "./answer";
import { promptsStore } from "./openPrompts";
import { PromptAnswer } from "./PromptAnswer";
import { PromptForm } from "./PromptForm";
import { ASK_USER, promptOf } from "./prompt";

interface Props {
  part: AnyToolPart;
  lookup: CallLookup;
}

/** A prompt of a running tool: the tool, its text, a form, and the answer. */
export function PromptCard({ part, lookup }: Props) {
  const card = useRef<HTMLElement>(null);
  const { toolCallId, input } = part;
  const { actions } = lookup;
  const { state } = callOf(part, lookup);
  const answer = useStore(promptsStore).get(toolCallId);
  const prompt = useMemo(() => (part.state === "input-streaming" ? undefined : promptOf(input)), [part.state, input]);
  const blank = useMemo(() => blankDraft(prompt?.schema), [prompt]);
  const from = prompt?.from === undefined ? "A tool" : (lookup.toolNamed(prompt.from)?.title ?? prompt.from);
  const given =
    state.kind === "settled" && state.result.kind === "output"
      ? answerOf(state.result.output, blank.fields)
      : undefined;
  const status = statusOf(state, given);
  const isWaiting = state.kind === "prompted" && prompt !== undefined;
  const problem = lookup.runOf(toolCallId)?.error?.message;

  const send = (given: UserAnswer) => {
    guardDecisions();
    answer?.(given);
    // The form disappears; keep the keyboard focus on this card.
    card.current?.focus();
  };
  return (
    <section
      ref={card}
      className="tool-card"
      data-tone={status.tone}
      data-state={part.state}
      data-call-state={state.kind}
      data-tool={ASK_USER}
      data-call={toolCallId}
      aria-label={`${visible(from)} asks you: ${status.label}`}
      tabIndex={-1}
    >
      <header className="tool-card__head">
        <span className="tool-card__icon">
          <MessageCircleQuestionMark size={17} aria-hidden="true" />
        </span>
        <h2 className="tool-card__title">
          <span>
            <Untrusted text={from} /> asks you
          </span>
          {prompt?.from !== undefined && (
            <code className="tool-card__name">
              <Untrusted text={prompt.from} />
            </code>
          )}
        </h2>
        <StatusPill status={status} />
      </header>
      {prompt && (
        <p className="prompt__message">
          <Untrusted text={prompt.message} reading="prose" />
        </p>
      )}
      {isWaiting && actions && (
        <PromptForm
          blank={blank}
          schema={prompt.schema}
          subject={visible(prompt.message)}
          isOpen={answer !== undefined}
          onAnswer={send}
        />
      )}
      {isWaiting && !actions && <p className="tool-card__note">Waiting for an answer at this point of the capture.</p>}
      {given ? (
        <PromptAnswer answer={given} />
      ) : (
        <CallOutcome id={toolCallId} state={state} title={`the prompt of ${visible(from)}`} />
      )}
      {isWaiting && problem !== undefined && (
        <>
          <p className="tool-card__error" role="alert">
            <Untrusted text={problem} reading="prose" />
          </p>
          {answer === undefined && actions && (
            <button type="button" className="button" onClick={() => actions.retry(toolCallId)}>
              Try again
            </button>
          )}
        </>
      )}
    </section>
  );
}

function statusOf(state: CardState, given: GivenAnswer | undefined): CardLabel {
  switch (given?.action) {
    case undefined:
      return cardLabel(state);
    case "accept":
      return { label: "Answered", tone: "ok" };
    case "decline":
      return { label: "Declined", tone: "quiet" };
    default:
      return { label: "Dismissed", tone: "quiet" };
  }
}
