import type { UserAnswer } from "holdpoint";
import { Check, X } from "lucide-react";
import { useId, useRef, useState } from "react";
import { useArmed } from "../tools/guard";
import { contentOf } from "./content";
import type { Field } from "./fields";
import { PromptField } from "./PromptField";
import { readForm } from "./readForm";

interface Props {
  fields: readonly Field[];
  /** The subject of the prompt, for screen readers. */
  subject: string;
  /** Whether the prompt can be answered: it is waiting, and no answer was given. */
  isOpen: boolean;
  onAnswer: (answer: UserAnswer) => void;
}

/** A form for a prompt. Its controls keep their values, so that an answer that failed to arrive can be sent again. */
export function PromptForm({ fields, subject, isOpen, onAnswer }: Props) {
  const form = useRef<HTMLFormElement>(null);
  const [problems, setProblems] = useState<ReadonlyMap<string, string>>(new Map());
  const row = useRef<HTMLDivElement>(null);
  const { isArmed, accepts } = useArmed(row);
  const id = useId();

  const submit = () => {
    if (form.current === null) return;
    const result = contentOf(fields, readForm(form.current, fields, id));
    if (result.ok) {
      setProblems(new Map());
      onAnswer({ action: "accept", content: result.content });
      return;
    }
    setProblems(result.problems);
    // Its error is read out with it.
    const first = fields.findIndex(({ name }) => result.problems.has(name));
    form.current.querySelector<HTMLElement>(`[name="${id}-${first}"]`)?.focus();
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
        {fields.map((field, at) => (
          <PromptField key={field.name} id={`${id}-${at}`} field={field} problem={problems.get(field.name)} />
        ))}
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
