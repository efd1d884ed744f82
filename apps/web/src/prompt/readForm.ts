import type { Given } from "./content";
import type { Field } from "./fields";

/** The current values of the form's controls. They are named by index, since a field may have any name. */
export function readForm(form: HTMLFormElement, fields: readonly Field[], id: string): Map<string, Given> {
  const controls = [...form.elements].filter((control) => control instanceof HTMLInputElement);
  return new Map(
    fields.map(({ name, kind }, at): [string, Given] => {
      const named = `${id}-${at}`;
      if (kind === "choice") return [name, new FormData(form).get(named)?.toString() ?? ""];
      const own = controls.filter((control) => control.name === named);
      if (kind === "choices") return [name, own.filter(({ checked }) => checked).map(({ value }) => value)];
      const [control] = own;
      if (kind === "boolean") return [name, control?.checked ?? false];
      // Input that the browser can't parse has an empty value, which would count as no input.
      return [name, control?.validity.badInput ? { invalid: true } : (control?.value ?? "")];
    }),
  );
}
