import { isObject } from "./isObject";
import type { Prompt } from "./prompt";

interface Common {
  name: string;
  label: string;
  description: string | undefined;
  isRequired: boolean;
}

export interface Option {
  value: unknown;
  label: string;
}

export type TextFormat = "text" | "email" | "uri" | "date" | "date-time";

/**
 * One field of the form. Its value is kept as the control has it: text, a checked state, or the indexes of chosen
 * options.
 */
export type Field = Common &
  (
    | { kind: "text"; format: TextFormat; minLength?: number; maxLength?: number; initial: string }
    | { kind: "number"; isWhole: boolean; minimum?: number; maximum?: number; initial: string }
    | { kind: "boolean"; initial: boolean }
    | { kind: "choice"; options: Option[]; initial: string }
    | { kind: "choices"; options: Option[]; minItems?: number; maxItems?: number; initial: string[] }
  );

const FORMATS: readonly string[] = ["email", "uri", "date", "date-time"] satisfies TextFormat[];

/** The fields of a prompt's schema. An unknown kind becomes a text field. */
export function fieldsOf({ schema }: Prompt): Field[] {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(properties).map(([name, described]) => {
    const property = isObject(described) ? described : {};
    const common = {
      name,
      label: textOf(property.title) ?? name,
      description: textOf(property.description),
      isRequired: required.includes(name),
    };
    return fieldOf(common, property);
  });
}

function fieldOf(common: Common, property: Record<string, unknown>): Field {
  const { type, default: initial } = property;
  const options = optionsOf(property);
  if (options !== undefined) return { ...common, kind: "choice", options, initial: placeOf(options, initial) ?? "" };
  const items = type === "array" && isObject(property.items) ? optionsOf(property.items) : undefined;
  if (items !== undefined) {
    const chosen = (Array.isArray(initial) ? initial : []).flatMap((value) => placeOf(items, value) ?? []);
    return { ...common, kind: "choices", options: items, initial: chosen, ...limits(property, "minItems", "maxItems") };
  }
  if (type === "boolean") return { ...common, kind: "boolean", initial: initial === true };
  const written = typeof initial === "string" || typeof initial === "number" ? String(initial) : "";
  if (type === "number" || type === "integer") {
    const isWhole = type === "integer";
    return { ...common, kind: "number", isWhole, initial: written, ...limits(property, "minimum", "maximum") };
  }
  const format = FORMATS.includes(String(property.format)) ? (property.format as TextFormat) : "text";
  const shown = format === "date-time" ? localTime(written) : written;
  return { ...common, kind: "text", format, initial: shown, ...limits(property, "minLength", "maxLength") };
}

/** `enum`, with or without names, or `oneOf`/`anyOf` of constants. */
function optionsOf(property: Record<string, unknown>): Option[] | undefined {
  const { enum: values, enumNames } = property;
  if (Array.isArray(values)) {
    const names: unknown[] = Array.isArray(enumNames) ? enumNames : [];
    return values.map((value: unknown, at) => ({ value, label: textOf(names[at]) ?? String(value) }));
  }
  const constants = property.oneOf ?? property.anyOf;
  if (!Array.isArray(constants)) return undefined;
  const options = constants
    .filter((option): option is Record<string, unknown> => isObject(option) && "const" in option)
    .map((option) => ({ value: option.const, label: textOf(option.title) ?? String(option.const) }));
  return options.length === 0 ? undefined : options;
}

/** A control's value is a string, but an option may be any value: so the control holds its index. */
function placeOf(options: readonly Option[], value: unknown): string | undefined {
  const at = options.findIndex((option) => option.value === value);
  return at === -1 ? undefined : String(at);
}

function limits<NAME extends string>(property: Record<string, unknown>, ...names: NAME[]): { [name in NAME]?: number } {
  const found = names.filter((name) => typeof property[name] === "number").map((name) => [name, property[name]]);
  return Object.fromEntries(found) as { [name in NAME]?: number };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** In the format of a browser's control: local time without a zone. */
function localTime(iso: string): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return "";
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
