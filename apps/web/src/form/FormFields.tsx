import { Plus, Trash2 } from "lucide-react";
import { type ReactNode, useId } from "react";
import { runsOf, visible } from "../text/runs";
import { Untrusted } from "../text/Untrusted";
import type { Schema } from "../value/schema";
import { Control, type LeafDraft } from "./Control";
import { type Draft, type DraftField, emptyDraft, itemOf, pointerTo } from "./draft";

interface Props {
  draft: Draft;
  /** Where the draft is in the whole value, as a JSON pointer. */
  pointer: string;
  label: string;
  about?: string | undefined;
  /** Problems by JSON pointer. */
  problems: ReadonlyMap<string, string>;
  /** The schema of the whole value, for its definitions. */
  root: Schema;
  onChange: (draft: Draft) => void;
  isRequired?: boolean;
  /** An empty control leaves the value out. */
  mayBeBlank?: boolean;
  /** Leaves the value out; omitted where it is required. */
  onRemove?: (() => void) | undefined;
}

/** The one form of the console: the controls for a value of a JSON Schema, with their labels and problems. */
export function FormFields(props: Props) {
  const { draft, pointer, label, problems, root, onChange } = props;
  switch (draft.kind) {
    case "object":
      return (
        <Group {...props}>
          {draft.fields.map((field) => (
            <ObjectField
              key={field.name}
              field={field}
              pointer={pointerTo(pointer, field.name)}
              problems={problems}
              root={root}
              onChange={(changed) =>
                onChange({
                  kind: "object",
                  fields: draft.fields.map((each) => (each === field ? { ...field, draft: changed } : each)),
                })
              }
            />
          ))}
        </Group>
      );
    case "list": {
      const { items, itemSchema } = draft;
      return (
        <Group {...props}>
          {items.map((item, at) => (
            <FormFields
              key={item.key}
              draft={item.draft}
              pointer={pointerTo(pointer, String(at))}
              label={`${label} ${at + 1}`}
              problems={problems}
              root={root}
              onChange={(changed) =>
                onChange({ ...draft, items: items.map((each) => (each === item ? { ...item, draft: changed } : each)) })
              }
              onRemove={() => onChange({ ...draft, items: items.filter((each) => each !== item) })}
            />
          ))}
          <button
            type="button"
            className="button edit__add"
            onClick={() => onChange({ ...draft, items: [...items, itemOf(emptyDraft(itemSchema, root))] })}
          >
            <Plus size={14} aria-hidden="true" />
            Add an item<span className="visually-hidden"> to {visible(label)}</span>
          </button>
        </Group>
      );
    }
    case "absent":
      return null;
    default:
      return <Leaf {...props} draft={draft} />;
  }
}

function ObjectField({
  field,
  onChange,
  ...rest
}: Pick<Props, "pointer" | "problems" | "root" | "onChange"> & { field: DraftField }) {
  const { draft, label, about, isRequired, mayBeBlank, schema } = field;
  if (draft.kind === "absent") {
    return (
      <button type="button" className="button edit__add" onClick={() => onChange(emptyDraft(schema, rest.root))}>
        <Plus size={14} aria-hidden="true" />
        <span>
          Add <Untrusted text={label} />
        </span>
      </button>
    );
  }
  return (
    <FormFields
      {...rest}
      draft={draft}
      label={label}
      about={about}
      isRequired={isRequired && mayBeBlank}
      mayBeBlank={mayBeBlank}
      onChange={onChange}
      onRemove={isRequired || mayBeBlank ? undefined : () => onChange({ kind: "absent" })}
    />
  );
}

/** The fields of an object, or the items of a list. The whole value has no frame. */
function Group({ pointer, label, about, problems, onRemove, children }: Props & { children: ReactNode }) {
  const problem = problems.get(pointer);
  if (pointer === "") return <div className="prompt__fields">{children}</div>;
  return (
    <fieldset className="edit__group">
      <legend className="prompt__label">
        <Untrusted text={label} />
      </legend>
      {onRemove && <Remove label={label} onRemove={onRemove} />}
      {about && (
        <p className="prompt__about">
          <Untrusted text={about} reading="prose" />
        </p>
      )}
      {problem && <Problem text={problem} />}
      {children}
    </fieldset>
  );
}

/** One control with its label, what is said about it, and what is wrong with it. */
function Leaf(props: Props & { draft: LeafDraft }) {
  const { draft, pointer, label, about, problems, isRequired = false, mayBeBlank = false, onChange, onRemove } = props;
  const id = useId();
  const problem = problems.get(pointer);
  const described = [about && `${id}-about`, problem && `${id}-problem`].filter(Boolean).join(" ") || undefined;
  const common = {
    id,
    "aria-invalid": problem !== undefined,
    "aria-describedby": described,
    "data-pointer": pointer,
  };
  const control = <Control {...{ draft, common, isRequired, mayBeBlank, onChange }} />;
  const isHidden = draft.kind === "text" && runsOf(draft.text, "data").some((run) => run.kind === "hidden");
  // An empty box is an answer.
  const isOptional = mayBeBlank && !isRequired && draft.kind !== "boolean";
  const name = (
    <>
      <Untrusted text={label} />
      {isOptional && <span className="approval__optional"> Optional</span>}
    </>
  );
  const remove = onRemove && <Remove label={label} onRemove={onRemove} />;
  const notes = (
    <>
      {about && (
        <p className="prompt__about" id={`${id}-about`}>
          <Untrusted text={about} reading="prose" />
        </p>
      )}
      {isHidden && (
        // A control renders its value raw.
        <p className="prompt__about">
          It holds characters that can't be seen: <Untrusted text={draft.text} />
        </p>
      )}
      {problem && <Problem id={`${id}-problem`} text={problem} />}
    </>
  );
  if (draft.kind === "choices") {
    return (
      <fieldset className="prompt__field prompt__group">
        <legend className="prompt__label">{name}</legend>
        {remove}
        {control}
        {notes}
      </fieldset>
    );
  }
  return (
    <div className="prompt__field">
      {draft.kind === "boolean" ? (
        <span className="edit__head">
          <label className="prompt__tick" htmlFor={id}>
            {control}
            {name}
          </label>
          {remove}
        </span>
      ) : (
        <>
          <span className="edit__head">
            <label className="prompt__label" htmlFor={id}>
              {name}
            </label>
            {remove}
          </span>
          {control}
        </>
      )}
      {notes}
    </div>
  );
}

function Problem({ id, text }: { id?: string; text: string }) {
  return (
    <p className="prompt__problem" id={id} role="alert">
      <Untrusted text={text} reading="prose" />
    </p>
  );
}

function Remove({ label, onRemove }: { label: string; onRemove: () => void }) {
  return (
    <button type="button" className="icon-button" aria-label={`Leave out ${visible(label)}`} onClick={onRemove}>
      <Trash2 size={14} aria-hidden="true" />
    </button>
  );
}
