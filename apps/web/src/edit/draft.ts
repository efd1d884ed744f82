import { isObject } from "../prompt/isObject";
import { descriptionOf, itemsOf, propertiesOf, requiredOf, type Schema, titleOf } from "../value/schema";

/** A value while it is being edited: what the controls hold. Nothing in it has to be valid. */
export type Draft =
  | { kind: "text"; text: string; isLong: boolean }
  | { kind: "number"; text: string; isWhole: boolean }
  | { kind: "boolean"; value: boolean }
  /** `at` is the index of the option; empty for none. */
  | { kind: "choice"; options: readonly unknown[]; at: string }
  | { kind: "object"; fields: readonly DraftField[] }
  | { kind: "list"; items: readonly DraftItem[]; itemSchema: Schema }
  /** Whatever has no control of its own. */
  | { kind: "json"; text: string }
  /** A field that may be left out, and is. */
  | { kind: "absent" };

export interface DraftField {
  name: string;
  label: string;
  about: string | undefined;
  isRequired: boolean;
  schema: Schema;
  draft: Draft;
}

export interface DraftItem {
  /** Stays the same when items before it are removed. */
  key: number;
  draft: Draft;
}

/** The longest text in a control of one line. */
const ONE_LINE = 80;
/** Deeper than any schema that a person edits field by field; a schema may refer to itself. */
const MAX_DEPTH = 12;

let keys = 0;

/** The draft of a value. `root` is the schema that references point into. */
export function draftOf(value: unknown, given: Schema, root: Schema = given, depth = 0): Draft {
  const schema = resolve(given, root);
  const options = optionsOf(schema);
  const at = options?.findIndex((option) => isSame(option, value)) ?? -1;
  if (options !== undefined && at !== -1) return { kind: "choice", options, at: String(at) };
  const json: Draft = { kind: "json", text: JSON.stringify(value, null, 2) ?? "" };
  if (isComposite(schema) || options !== undefined || depth > MAX_DEPTH) return json;
  const type = isObject(schema) ? schema.type : undefined;
  const isA = (name: string) => type === undefined || type === name;
  if (typeof value === "string" && isA("string"))
    return { kind: "text", text: value, isLong: value.length > ONE_LINE || value.includes("\n") };
  if (typeof value === "number" && (isA("number") || type === "integer"))
    return { kind: "number", text: String(value), isWhole: type === "integer" };
  if (typeof value === "boolean" && isA("boolean")) return { kind: "boolean", value };
  if (Array.isArray(value) && isA("array") && !hasTuple(schema)) {
    const itemSchema = resolve(itemsOf(schema), root);
    const items = value.map((item) => itemOf(draftOf(item, itemSchema, root, depth + 1)));
    return { kind: "list", items, itemSchema };
  }
  if (isObject(value) && isA("object")) return { kind: "object", fields: fieldsOf(value, schema, root, depth) };
  return json;
}

/** A new item of a list. */
export function itemOf(draft: Draft): DraftItem {
  return { key: keys++, draft };
}

/** The draft of something that was not there before. */
export function emptyDraft(given: Schema, root: Schema): Draft {
  const schema = resolve(given, root);
  if (!isObject(schema)) return { kind: "json", text: "" };
  if (schema.default !== undefined) return draftOf(schema.default, schema, root);
  const options = optionsOf(schema);
  if (options !== undefined) return { kind: "choice", options, at: "" };
  if (isComposite(schema)) return { kind: "json", text: "" };
  switch (schema.type) {
    case "string":
      return draftOf("", schema, root);
    case "number":
    case "integer":
      return { kind: "number", text: "", isWhole: schema.type === "integer" };
    case "boolean":
      return draftOf(false, schema, root);
    case "array":
      return draftOf([], schema, root);
    case "object":
      return draftOf(Object.fromEntries(requiredOf(schema).map((name) => [String(name), undefined])), schema, root);
    default:
      return { kind: "json", text: "" };
  }
}

function fieldsOf(value: Record<string, unknown>, schema: Schema, root: Schema, depth: number): DraftField[] {
  const properties = propertiesOf(schema);
  const names = [...new Set([...Object.keys(properties), ...Object.keys(value)])];
  return names.map((name) => {
    const property = resolve(Object.hasOwn(properties, name) ? properties[name] : undefined, root);
    const isRequired = requiredOf(schema).includes(name);
    const isGiven = Object.hasOwn(value, name);
    const given = value[name];
    return {
      name,
      label: titleOf(property) ?? name,
      about: descriptionOf(property),
      isRequired,
      schema: property,
      draft: !isGiven
        ? { kind: "absent" }
        : given === undefined
          ? emptyDraft(property, root)
          : draftOf(given, property, root, depth + 1),
    };
  });
}

/** The value of a draft. Problems are added by JSON pointer; with any, the value is of no use. */
export function readDraft(draft: Draft, pointer: string, problems: Map<string, string>): unknown {
  switch (draft.kind) {
    case "text":
      return draft.text;
    case "boolean":
      return draft.value;
    case "absent":
      return undefined;
    case "number": {
      const text = draft.text.trim();
      const value = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
      if (!Number.isFinite(value)) problems.set(pointer, "Write a number.");
      else if (draft.isWhole && !Number.isInteger(value)) problems.set(pointer, "Write a whole number.");
      return value;
    }
    case "choice":
      if (draft.at === "") problems.set(pointer, "Choose one.");
      return draft.options[Number(draft.at)];
    case "json":
      try {
        return JSON.parse(draft.text) as unknown;
      } catch {
        problems.set(pointer, "This is not valid JSON.");
        return undefined;
      }
    case "list":
      return draft.items.map((item, at) => readDraft(item.draft, pointerTo(pointer, String(at)), problems));
    case "object":
      return Object.fromEntries(
        draft.fields
          .filter((field) => field.draft.kind !== "absent")
          .map((field) => [field.name, readDraft(field.draft, pointerTo(pointer, field.name), problems)]),
      );
  }
}

/** The JSON pointer of a field or an item. */
export function pointerTo(parent: string, name: string): string {
  return `${parent}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** Whether a draft has a control for this pointer. */
export function hasControl(draft: Draft, pointer: string, at = ""): boolean {
  if (pointer === at) return draft.kind !== "object" && draft.kind !== "list";
  if (draft.kind === "object")
    return draft.fields.some((field) => hasControl(field.draft, pointer, pointerTo(at, field.name)));
  return (
    draft.kind === "list" &&
    draft.items.some((item, index) => hasControl(item.draft, pointer, pointerTo(at, String(index))))
  );
}

/** The schema, without a reference to a definition of its root, and without `null` as an alternative. */
function resolve(schema: Schema, root: Schema): Schema {
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

function optionsOf(schema: Schema): readonly unknown[] | undefined {
  return isObject(schema) && Array.isArray(schema.enum) ? (schema.enum as unknown[]) : undefined;
}

/** Whether a schema says more than these controls can show. */
function isComposite(schema: Schema): boolean {
  if (!isObject(schema)) return false;
  return ["anyOf", "oneOf", "allOf", "not", "if", "$ref"].some((word) => word in schema) || Array.isArray(schema.type);
}

function hasTuple(schema: Schema): boolean {
  return isObject(schema) && ("prefixItems" in schema || Array.isArray(schema.items));
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
