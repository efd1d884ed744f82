import { type Draft, type DraftField, pointerTo } from "./draft";
import type { TextFormat } from "./schema";

/** What is wrong, by JSON pointer. */
export type Problems = Map<string, string>;

/** The value of a draft. Problems are added; with any, the value is of no use. */
export function readDraft(draft: Draft, pointer: string, problems: Problems): unknown {
  const read = (result: { value: unknown } | { problem: string }): unknown => {
    if ("value" in result) return result.value;
    problems.set(pointer, result.problem);
    return undefined;
  };
  switch (draft.kind) {
    case "text":
      return read(readText(draft));
    case "number":
      return read(readNumber(draft));
    case "boolean":
      return draft.value;
    case "absent":
      return undefined;
    case "choice":
      return read(draft.at === "" ? { problem: "Choose one." } : { value: draft.options[Number(draft.at)]?.value });
    case "choices":
      return read(readChoices(draft));
    case "json":
      try {
        return JSON.parse(draft.text) as unknown;
      } catch {
        return read({ problem: "This is not valid JSON." });
      }
    case "list":
      return draft.items.map((item, at) => readDraft(item.draft, pointerTo(pointer, String(at)), problems));
    case "object": {
      const entries: [string, unknown][] = [];
      for (const field of draft.fields) {
        const at = pointerTo(pointer, field.name);
        if (field.draft.kind === "absent") continue;
        if (!field.mayBeBlank || !isBlank(field)) entries.push([field.name, readDraft(field.draft, at, problems)]);
        else if (field.isRequired) problems.set(at, MISSING[field.draft.kind] ?? "Fill this in.");
      }
      return Object.fromEntries(entries);
    }
  }
}

/**
 * The controls with something that the browser can't read, such as half a date: their value is empty, and would count
 * as none.
 */
export function unreadable(form: HTMLElement): Problems {
  const controls = [...form.querySelectorAll<HTMLInputElement>("input[data-pointer]")];
  const wrong = controls.filter(({ validity }) => validity.badInput);
  return new Map(
    wrong.map(({ dataset, type }) => [dataset.pointer ?? "", WRONG[type === "date" ? "date" : "date-time"]]),
  );
}

const MISSING: { [kind in Draft["kind"]]?: string } = {
  number: "Write a number.",
  choice: "Choose one.",
  choices: "Choose one.",
};

/** Whether nobody has written anything. */
function isBlank({ draft, isRequired }: DraftField): boolean {
  switch (draft.kind) {
    case "text":
    case "number":
    case "json":
      return draft.text.trim() === "";
    case "choice":
      return draft.at === "";
    case "choices":
      // No choice is a choice, where one is asked for and none is enough.
      return draft.chosen.length === 0 && (!isRequired || (draft.limits.minItems ?? 0) > 0);
    case "list":
      return draft.items.length === 0 && !isRequired;
    default:
      return false;
  }
}

type Read = { value: unknown } | { problem: string };

function readChoices({ options, chosen, limits }: Draft & { kind: "choices" }): Read {
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = limits;
  const values = options.filter((_, at) => chosen.includes(String(at))).map(({ value }) => value);
  if (values.length < minItems) return { problem: `Choose at least ${minItems}.` };
  if (values.length > maxItems) return { problem: `Choose at most ${maxItems}.` };
  return { value: values };
}

function readNumber({ text: written, isWhole, limits, given }: Draft & { kind: "number" }): Read {
  const text = written.trim();
  const value = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
  if (!Number.isFinite(value)) return { problem: "Write a number." };
  if (isWhole && !Number.isInteger(value)) return { problem: "Write a whole number." };
  if (written === given) return { value };
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = limits;
  if (minimum !== undefined && value < minimum) return { problem: `At least ${minimum}.` };
  if (maximum !== undefined && value > maximum) return { problem: `At most ${maximum}.` };
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) return { problem: `More than ${exclusiveMinimum}.` };
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) return { problem: `Less than ${exclusiveMaximum}.` };
  return { value };
}

function readText({ text, format, limits, given }: Draft & { kind: "text" }): Read {
  if (text === given) return { value: text };
  // Counted as in JSON Schema: a character outside the BMP counts as one.
  const { length } = [...text];
  const { minLength, maxLength } = limits;
  if (minLength !== undefined && length < minLength) return { problem: `At least ${characters(minLength)}.` };
  if (maxLength !== undefined && length > maxLength) return { problem: `At most ${characters(maxLength)}.` };
  if (!RIGHT[format](text)) return { problem: WRONG[format] };
  // A control for a time has no zone. A text that was given is changed as it is.
  return { value: format === "date-time" && given === undefined ? new Date(text).toISOString() : text };
}

function characters(count: number): string {
  return count === 1 ? "1 character" : `${count} characters`;
}

const RIGHT: Record<TextFormat, (text: string) => boolean> = {
  text: () => true,
  email: (text) => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text),
  uri: (text) => URL.canParse(text),
  // A day that the month does not have would roll over into the next month.
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00Z`).toJSON()?.startsWith(text) === true,
  "date-time": (text) => !Number.isNaN(Date.parse(text)),
};

const WRONG: Record<TextFormat, string> = {
  text: "This can't be read.",
  email: "Write an e-mail address, such as name@example.com.",
  uri: "Write a whole address, such as https://example.com.",
  date: "Write a date, such as 2026-01-31.",
  "date-time": "Write a date and a time.",
};
