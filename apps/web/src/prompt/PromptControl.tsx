import { visible } from "../text/runs";
import { Untrusted } from "../text/Untrusted";
import type { Field, TextFormat } from "./fields";

interface Props {
  /** Also its name. */
  id: string;
  field: Field;
  isWrong: boolean;
  describedBy: string | undefined;
}

const TYPES: Record<TextFormat, string> = {
  text: "text",
  email: "email",
  uri: "url",
  date: "date",
  "date-time": "datetime-local",
};

/** The form control. It is uncontrolled: its value is read on submit. */
export function PromptControl({ id, field, isWrong, describedBy }: Props) {
  const common = { id, name: id, "aria-invalid": isWrong, "aria-describedby": describedBy };
  const demanding = { ...common, className: "field", "aria-required": field.isRequired };
  switch (field.kind) {
    case "text":
      return <input {...demanding} type={TYPES[field.format]} defaultValue={field.initial} />;
    case "number":
      return (
        <input
          {...demanding}
          type="number"
          step={field.isWhole ? 1 : "any"}
          min={field.minimum}
          max={field.maximum}
          defaultValue={field.initial}
        />
      );
    case "boolean":
      return <input {...common} type="checkbox" defaultChecked={field.initial} />;
    case "choice":
      return (
        <select {...demanding} defaultValue={field.initial}>
          <option value="">{field.isRequired ? "Choose…" : "No choice"}</option>
          {field.options.map(({ label }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: options are identified by index
            <option key={at} value={at}>
              {visible(label)}
            </option>
          ))}
        </select>
      );
    case "choices":
      return field.options.map(({ label }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: options are identified by index
        <label className="prompt__tick" key={at}>
          <input type="checkbox" name={id} value={at} defaultChecked={field.initial.includes(String(at))} />
          <Untrusted text={label} />
        </label>
      ));
  }
}
