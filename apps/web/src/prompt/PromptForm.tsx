import type { UserAnswer } from "holdpoint";
import { Check, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import type { Draft } from "../form/draft";
import { FormFields } from "../form/FormFields";
import { readDraft, unreadable } from "../form/read";
import { useArmed } from "../tools/guard";
import type { Schema } from "../value/schema";

interface Props {
  /** The form as it is before anybody writes. */
  blank: Draft;
  schema: Schema;
  /** The subject of the prompt, for screen readers. */
  subject: string;
  /** Whether the prompt can be answered: it is waiting, and no answer was given. */
  isOpen: boolean;
  onAnswer: (answer: UserAnswer) => void;
}

/** A form for a prompt. It keeps what was written, so that an answer that failed to arrive can be sent again. */
export function PromptForm({ blank, schema, subject, isOpen, onAnswer }: Props) {
  const form = useRef<HTMLFormElement>(null);
  const [draft, setDraft] = useState(blank);
  const [problems, setProblems] = useState<ReadonlyMap<string, string>>(new Map());
  const row = useRef<HTMLDivElement>(null);
  const { isArmed, accepts } = useArmed(row);

  // The person is taken to the problem, which is read out with its field.
  useEffect(() => {
    if (problems.size > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [problems]);

  const submit = () => {
    if (form.current === null) return;
    const found = unreadable(form.current);
    const content = readDraft(draft, "", found);
    setProblems(found);
    if (found.size === 0) onAnswer({ action: "accept", content: content as Record<string, unknown> });
  };
  return (
    <form
      ref={form}
      className="prompt"
      aria-label={subject}
      // The browser's own validation shows one message at a time, and outside the page.
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <fieldset className="prompt__fields" disabled={!isOpen}>
        <FormFields draft={draft} pointer="" label={subject} problems={problems} root={schema} onChange={setDraft} />
        <div className="approval__row" ref={row}>
          <button
            type="submit"
            className="button button--ok"
            aria-disabled={!isArmed}
            onClick={(event) => {
              if (!accepts(event)) event.preventDefault();
            }}
          >
            <Check size={15} aria-hidden="true" />
            Answer
          </button>
          <button
            type="button"
            className="button button--bad"
            aria-disabled={!isArmed}
            onClick={(event) => {
              if (accepts(event)) onAnswer({ action: "decline" });
            }}
          >
            <X size={15} aria-hidden="true" />
            Decline
          </button>
        </div>
      </fieldset>
    </form>
  );
}
