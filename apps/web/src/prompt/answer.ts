import type { Field } from "./fields";
import { isObject } from "./isObject";

/** An answer, in displayable form. */
export interface GivenAnswer {
  action: string;
  rows: { label: string; value: unknown }[];
}

/** Reads the output of a settled call. Names that are not in the form are shown as they are. */
export function answerOf(output: unknown, fields: readonly Field[]): GivenAnswer | undefined {
  if (!isObject(output) || typeof output.action !== "string") return undefined;
  const content = isObject(output.content) ? output.content : {};
  const rows = Object.entries(content).map(([name, value]) => {
    const field = fields.find((candidate) => candidate.name === name);
    return { label: field?.label ?? name, value: field ? shown(field, value) : value };
  });
  return { action: output.action, rows };
}

function shown(field: Field, value: unknown): unknown {
  if (field.kind === "boolean") return value === true ? "yes" : "no";
  if (field.kind !== "choice" && field.kind !== "choices") return value;
  const labelOf = (one: unknown) => field.options.find((option) => option.value === one)?.label ?? String(one);
  return Array.isArray(value) ? value.map(labelOf).join(", ") : labelOf(value);
}
