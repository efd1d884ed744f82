import { Plus, Trash2 } from "lucide-react";
import { type ReactNode, useId } from "react";
import { runsOf, visible } from "../text/runs";
import { Untrusted } from "../text/Untrusted";
import type { Schema } from "../value/schema";
import { type Draft, type DraftField, emptyDraft, itemOf, pointerTo } from "./draft";

interface Props {
  draft: Draft;
  /** Where the draft is in the input, as a JSON pointer. */
  pointer: string;
  label: string;
  about?: string | undefined;
  /** Problems by JSON pointer. */
  problems: ReadonlyMap<string, string>;
  /** The schema of the whole input, for its definitions. */
  root: Schema;
  onChange: (draft: Draft) => void;
  /** Leaves the value out; omitted where it is required. */
  onRemove?: (() => void) | undefined;
}

/** The controls for a value, with their labels and problems. */
export function DraftEditor(props: Props) {
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
            <DraftEditor
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
  const { draft, label, about, isRequired, schema } = field;
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
    <DraftEditor
      {...rest}
      draft={draft}
      label={label}
      about={about}
      onChange={onChange}
      onRemove={isRequired ? undefined : () => onChange({ kind: "absent" })}
    />
  );
}

/** The fields of an object, or the items of a list. The input itself has no frame. */
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

type LeafDraft = Exclude<Draft, { kind: "object" | "list" | "absent" }>;

/** One control. */
function Leaf({ draft, pointer, label, about, problems, onChange, onRemove }: Props & { draft: LeafDraft }) {
  const id = useId();
  const problem = problems.get(pointer);
  const described = [about && `${id}-about`, problem && `${id}-problem`].filter(Boolean).join(" ") || undefined;
  const common = {
    id,
    "aria-invalid": problem !== undefined,
    "aria-describedby": described,
    "data-pointer": pointer,
  };
  const isHidden = draft.kind === "text" && runsOf(draft.text, "data").some((run) => run.kind === "hidden");
  return (
    <div className="prompt__field">
      <span className="edit__head">
        <label className="prompt__label" htmlFor={id}>
          <Untrusted text={label} />
        </label>
        {onRemove && <Remove label={label} onRemove={onRemove} />}
      </span>
      <Control draft={draft} common={common} onChange={onChange} />
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
    </div>
  );
}

interface ControlProps {
  draft: LeafDraft;
  common: Record<string, unknown> & { id: string };
  onChange: (draft: Draft) => void;
}

function Control({ draft, common, onChange }: ControlProps) {
  switch (draft.kind) {
    case "boolean":
      return (
        <input
          {...common}
          type="checkbox"
          className="edit__tick"
          checked={draft.value}
          onChange={({ target }) => onChange({ ...draft, value: target.checked })}
        />
      );
    case "choice":
      return (
        <select
          {...common}
          className="field"
          value={draft.at}
          onChange={({ target }) => onChange({ ...draft, at: target.value })}
        >
          {draft.at === "" && <option value="">Choose…</option>}
          {draft.options.map((option, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: options are identified by index
            <option key={at} value={at}>
              {visible(typeof option === "string" ? option : JSON.stringify(option))}
            </option>
          ))}
        </select>
      );
    case "json":
      return (
        <textarea
          {...common}
          className="field mono"
          rows={Math.min(12, Math.max(3, draft.text.split("\n").length))}
          spellCheck={false}
          value={draft.text}
          onChange={({ target }) => onChange({ ...draft, text: target.value })}
        />
      );
    case "text":
      if (draft.isLong) {
        return (
          <textarea
            {...common}
            className="field"
            rows={5}
            value={draft.text}
            onChange={({ target }) => onChange({ ...draft, text: target.value })}
          />
        );
      }
      return (
        <input
          {...common}
          className="field"
          autoComplete="off"
          value={draft.text}
          onChange={({ target }) => onChange({ ...draft, text: target.value })}
        />
      );
    case "number":
      return (
        <input
          {...common}
          className="field"
          // The browser's own number field changes its value by a turn of the mouse wheel.
          inputMode={draft.isWhole ? "numeric" : "decimal"}
          autoComplete="off"
          value={draft.text}
          onChange={({ target }) => onChange({ ...draft, text: target.value })}
        />
      );
  }
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
