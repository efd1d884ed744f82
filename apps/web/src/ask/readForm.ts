import type { Given } from "./content";
import type { Field } from "./fields";

/** What the form's controls hold now. They are named by their places, since a field may be called anything. */
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
      // The value of what the browser could not read is empty, which would be taken for nothing.
      return [name, control?.validity.badInput ? { invalid: true } : (control?.value ?? "")];
    }),
  );
}
