import type { DraftField } from "../form/draft";
import { isObject } from "./isObject";

/** An answer, in displayable form. */
export interface GivenAnswer {
  action: string;
  rows: { label: string; value: unknown }[];
}

/** Reads the output of a settled call. Names that are not in the form are shown as they are. */
export function answerOf(output: unknown, fields: readonly DraftField[]): GivenAnswer | undefined {
  if (!isObject(output) || typeof output.action !== "string") return undefined;
  const content = isObject(output.content) ? output.content : {};
  const rows = Object.entries(content).map(([name, value]) => {
    const field = fields.find((candidate) => candidate.name === name);
    return { label: field?.label ?? name, value: field ? shown(field, value) : value };
  });
  return { action: output.action, rows };
}

function shown({ draft }: DraftField, value: unknown): unknown {
  if (draft.kind === "boolean") return value === true ? "yes" : "no";
  if (draft.kind !== "choice" && draft.kind !== "choices") return value;
  const labelOf = (one: unknown) => draft.options.find((option) => option.value === one)?.label ?? String(one);
  return Array.isArray(value) ? value.map(labelOf).join(", ") : labelOf(value);
}
