import type { Field } from "./fields";

/**
 * The value of a control: text, a checked state, or the indexes of chosen options. `invalid` means that the browser
 * could not parse it.
 */
export type Given = string | boolean | readonly string[] | { invalid: true };

/** The content of the answer, or the errors by field name. */
export type Content =
  | { ok: true; content: Record<string, unknown> }
  | { ok: false; problems: ReadonlyMap<string, string> };

type Read = { value: unknown } | { problem: string } | "nothing";

/** Builds the answer's content from the control values. Empty fields are omitted. */
export function contentOf(fields: readonly Field[], given: ReadonlyMap<string, Given>): Content {
  const problems = new Map<string, string>();
  const entries: [string, unknown][] = [];
  for (const field of fields) {
    const read = readField(field, given.get(field.name) ?? "");
    if (read === "nothing") {
      if (field.isRequired) problems.set(field.name, field.kind === "text" ? "Fill this in." : missing(field));
    } else if ("problem" in read) problems.set(field.name, read.problem);
    else entries.push([field.name, read.value]);
  }
  return problems.size > 0 ? { ok: false, problems } : { ok: true, content: Object.fromEntries(entries) };
}

function missing(field: Field): string {
  return field.kind === "number" ? "Write a number." : "Choose one.";
}

function readField(field: Field, given: Given): Read {
  switch (field.kind) {
    case "boolean":
      return { value: given === true };
    case "choice": {
      const option = field.options[given === "" ? -1 : Number(given)];
      return option === undefined ? "nothing" : { value: option.value };
    }
    case "choices":
      return readChoices(field, Array.isArray(given) ? given : []);
    case "number":
      return readNumber(field, given);
    case "text":
      return readText(field, given);
  }
}

function readChoices(field: Field & { kind: "choices" }, places: readonly string[]): Read {
  const chosen = field.options.filter((_, at) => places.includes(String(at)));
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = field;
  if (chosen.length === 0 && (!field.isRequired || minItems > 0)) return "nothing";
  if (chosen.length < minItems) return { problem: `Choose at least ${minItems}.` };
  if (chosen.length > maxItems) return { problem: `Choose at most ${maxItems}.` };
  return { value: chosen.map(({ value }) => value) };
}

function readNumber(field: Field & { kind: "number" }, given: Given): Read {
  if (given === "") return "nothing";
  const value = typeof given === "string" ? Number(given) : Number.NaN;
  if (!Number.isFinite(value)) return { problem: "Write a number." };
  if (field.isWhole && !Number.isInteger(value)) return { problem: "Write a whole number." };
  if (field.minimum !== undefined && value < field.minimum) return { problem: `At least ${field.minimum}.` };
  if (field.maximum !== undefined && value > field.maximum) return { problem: `At most ${field.maximum}.` };
  return { value };
}

function readText(field: Field & { kind: "text" }, given: Given): Read {
  // An incomplete date.
  if (typeof given !== "string") return { problem: WRONG[field.format] };
  if (given.trim() === "") return "nothing";
  // Counted as in JSON Schema: a character outside the BMP counts as one.
  const { length } = [...given];
  if (field.minLength !== undefined && length < field.minLength)
    return { problem: `At least ${field.minLength} characters.` };
  if (field.maxLength !== undefined && length > field.maxLength)
    return { problem: `At most ${field.maxLength} characters.` };
  if (!RIGHT[field.format](given)) return { problem: WRONG[field.format] };
  return { value: field.format === "date-time" ? new Date(given).toISOString() : given };
}

type Format = (Field & { kind: "text" })["format"];

const RIGHT: Record<Format, (text: string) => boolean> = {
  text: () => true,
  email: (text) => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text),
  uri: (text) => URL.canParse(text),
  // A day that the month does not have would roll over into the next month.
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00Z`).toJSON()?.startsWith(text) === true,
  "date-time": (text) => !Number.isNaN(Date.parse(text)),
};

const WRONG: Record<Format, string> = {
  text: "This can't be read.",
  email: "Write an e-mail address, such as name@example.com.",
  uri: "Write a whole address, such as https://example.com.",
  date: "Write a date, such as 2026-01-31.",
  "date-time": "Write a date and a time.",
};
