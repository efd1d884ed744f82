import { isObject } from "../prompt/isObject";
import type { Schema } from "../value/schema";

/** One of the values that a schema allows. */
export interface Option {
  value: unknown;
  label: string;
}

const FORMATS = ["email", "uri", "date", "date-time"] as const;

export type TextFormat = "text" | (typeof FORMATS)[number];

const LIMITS = [
  "minLength",
  "maxLength",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "minItems",
  "maxItems",
] as const;

export type Limits = { readonly [name in (typeof LIMITS)[number]]?: number };

/** Deeper than any schema that a person fills in field by field; a schema may refer to itself. */
export const MAX_DEPTH = 12;

/** `enum`, with or without names, or `oneOf`/`anyOf` of constants. */
export function optionsOf(schema: Schema): readonly Option[] | undefined {
  if (!isObject(schema)) return undefined;
  const { enum: values, enumNames } = schema;
  if (Array.isArray(values)) {
    const names: unknown[] = Array.isArray(enumNames) ? enumNames : [];
    return values.map((value: unknown, at) => ({ value, label: textOf(names[at]) ?? written(value) }));
  }
  const constants = schema.oneOf ?? schema.anyOf;
  if (!Array.isArray(constants) || constants.length === 0) return undefined;
  const isConstant = (option: unknown): option is Record<string, unknown> => isObject(option) && "const" in option;
  if (!constants.every(isConstant)) return undefined;
  return constants.map((option) => ({ value: option.const, label: textOf(option.title) ?? written(option.const) }));
}

/** A control's value is a string, but an option may be any value: so the control holds its index. */
export function placeOf(options: readonly Option[], value: unknown): string | undefined {
  const at = options.findIndex((option) => JSON.stringify(option.value) === JSON.stringify(value));
  return at === -1 ? undefined : String(at);
}

export function formatOf(schema: Schema): TextFormat {
  return (isObject(schema) && FORMATS.find((format) => format === schema.format)) || "text";
}

export function limitsOf(schema: Schema): Limits {
  if (!isObject(schema)) return {};
  return Object.fromEntries(
    LIMITS.filter((name) => typeof schema[name] === "number").map((name) => [name, schema[name]]),
  );
}

/** Whether a schema says more than these controls can show. */
export function isComposite(schema: Schema): boolean {
  if (!isObject(schema)) return false;
  return ["anyOf", "oneOf", "allOf", "not", "if", "$ref"].some((word) => word in schema) || Array.isArray(schema.type);
}

export function hasTuple(schema: Schema): boolean {
  return isObject(schema) && ("prefixItems" in schema || Array.isArray(schema.items));
}

/** The schema, without a reference to a definition of its root, and without `null` as an alternative. */
export function resolve(schema: Schema, root: Schema): Schema {
  let found = withoutNull(schema);
  for (let steps = 0; steps < MAX_DEPTH; steps++) {
    if (!isObject(found) || typeof found.$ref !== "string") return found;
    const path = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(found.$ref);
    const definitions = path && isObject(root) ? root[path[1] as string] : undefined;
    const target = isObject(definitions) ? definitions[decodeURIComponent(path?.[2] ?? "")] : undefined;
    if (!isObject(target)) return found;
    const { $ref: _, ...own } = found;
    found = withoutNull({ ...target, ...own });
  }
  return found;
}

/**
 * A value that may be null is edited like one that may not: a null is written as JSON, since it has no control of its
 * own.
 */
function withoutNull(schema: Schema): Schema {
  if (!isObject(schema)) return schema;
  const { type, anyOf, ...rest } = schema;
  if (Array.isArray(type)) {
    const types = type.filter((each) => each !== "null");
    return types.length === 1 ? { ...schema, type: types[0] } : schema;
  }
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return schema;
  const [other, ...more] = anyOf.filter((each) => !(isObject(each) && each.type === "null"));
  return more.length === 0 && isObject(other) ? { ...other, ...rest } : schema;
}

function written(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
