import { useState } from "react";
import { runsOf } from "../text/runs";
import { Untrusted } from "../text/Untrusted";
import type { Field } from "./fields";
import { PromptControl } from "./PromptControl";

interface Props {
  /** Also the control's name. */
  id: string;
  field: Field;
  problem: string | undefined;
}

/** A field's label, control, description and error. */
export function PromptField({ id, field, problem }: Props) {
  const { label, description, isRequired, kind } = field;
  const [text, setText] = useState(typeof field.initial === "string" ? field.initial : "");
  const described = [description && `${id}-about`, problem && `${id}-problem`].filter(Boolean).join(" ") || undefined;
  const control = <PromptControl id={id} field={field} isWrong={problem !== undefined} describedBy={described} />;
  // An unchecked box is a valid answer to a required boolean.
  const optional = !isRequired && kind !== "boolean" && <span className="approval__optional"> Optional</span>;
  const notes = (
    <>
      {description && (
        <p className="prompt__about" id={`${id}-about`}>
          <Untrusted text={description} reading="prose" />
        </p>
      )}
      {kind === "text" && runsOf(text, "data").some((run) => run.kind === "hidden") && (
        // A control renders its value raw, and the initial value is not the user's own.
        <p className="prompt__about">
          It holds characters that can't be seen: <Untrusted text={text} />
        </p>
      )}
      {problem && (
        <p className="prompt__problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
    </>
  );
  if (kind === "choices") {
    return (
      <fieldset className="prompt__field prompt__group" aria-describedby={described}>
        <legend className="prompt__label">
          <Untrusted text={label} />
          {optional}
        </legend>
        {control}
        {notes}
      </fieldset>
    );
  }
  return (
    <div
      className="prompt__field"
      onInput={({ target }) => {
        if (kind === "text" && target instanceof HTMLInputElement) setText(target.value);
      }}
    >
      {kind === "boolean" ? (
        <label className="prompt__tick" htmlFor={id}>
          {control}
          <Untrusted text={label} />
        </label>
      ) : (
        <>
          <label className="prompt__label" htmlFor={id}>
            <Untrusted text={label} />
            {optional}
          </label>
          {control}
        </>
      )}
      {notes}
    </div>
  );
}
