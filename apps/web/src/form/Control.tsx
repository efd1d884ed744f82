import { visible } from "../text/runs";
import { Untrusted } from "../text/Untrusted";
import type { Draft } from "./draft";

/** What one control, or one group of boxes, holds. */
export type LeafDraft = Exclude<Draft, { kind: "object" | "list" | "absent" }>;

interface Props {
  draft: LeafDraft;
  common: {
    id: string;
    "aria-invalid": boolean;
    "aria-describedby": string | undefined;
    "data-pointer": string;
  };
  /** Whether something has to be written. */
  isRequired: boolean;
  /** Whether nothing can be chosen. */
  mayBeBlank: boolean;
  onChange: (draft: Draft) => void;
}

/** The control. What a person reads in it is marked beside it: a control renders its value raw. */
export function Control({ draft, common, isRequired, mayBeBlank, onChange }: Props) {
  const demanding = { ...common, className: "field", "aria-required": isRequired };
  switch (draft.kind) {
    case "boolean":
      return (
        <input
          {...common}
          type="checkbox"
          checked={draft.value}
          onChange={({ target }) => onChange({ ...draft, value: target.checked })}
        />
      );
    case "choice":
      return (
        <select {...demanding} value={draft.at} onChange={({ target }) => onChange({ ...draft, at: target.value })}>
          {(draft.at === "" || mayBeBlank) && (
            <option value="">{mayBeBlank && !isRequired ? "No choice" : "Choose…"}</option>
          )}
          {draft.options.map(({ label }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: options are identified by index
            <option key={at} value={at}>
              {visible(label)}
            </option>
          ))}
        </select>
      );
    case "choices": {
      const { options, chosen } = draft;
      return options.map(({ label }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: options are identified by index
        <label className="prompt__tick" key={at}>
          <input
            {...common}
            id={undefined}
            type="checkbox"
            checked={chosen.includes(String(at))}
            onChange={({ target }) => {
              const others = chosen.filter((place) => place !== String(at));
              onChange({ ...draft, chosen: target.checked ? [...others, String(at)] : others });
            }}
          />
          <Untrusted text={label} />
        </label>
      ));
    }
    case "json":
      return (
        <textarea
          {...demanding}
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
            {...demanding}
            rows={5}
            value={draft.text}
            onChange={({ target }) => onChange({ ...draft, text: target.value })}
          />
        );
      }
      return (
        <input
          {...demanding}
          type={typeOf(draft)}
          autoComplete="off"
          value={draft.text}
          onChange={({ target }) => onChange({ ...draft, text: target.value })}
        />
      );
    case "number":
      return (
        <input
          {...demanding}
          // The browser's own number field changes its value by a turn of the mouse wheel.
          inputMode={draft.isWhole ? "numeric" : "decimal"}
          autoComplete="off"
          value={draft.text}
          onChange={({ target }) => onChange({ ...draft, text: target.value })}
        />
      );
  }
}

/** A text that was given is changed as it is: the browser's controls for times would show some of them as empty. */
function typeOf({ format, given }: Draft & { kind: "text" }): string {
  if (format === "email") return "email";
  if (format === "uri") return "url";
  if (format === "text" || given !== undefined) return "text";
  return format === "date" ? "date" : "datetime-local";
}
