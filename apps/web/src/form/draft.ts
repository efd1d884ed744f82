import { isObject } from "../prompt/isObject";
import { descriptionOf, itemsOf, propertiesOf, requiredOf, type Schema, titleOf } from "../value/schema";
import {
  formatOf,
  hasTuple,
  isComposite,
  type Limits,
  limitsOf,
  MAX_DEPTH,
  type Option,
  optionsOf,
  placeOf,
  resolve,
  type TextFormat,
} from "./schema";

/** A value while it is being written: what the controls hold. Nothing in it has to be valid. */
export type Draft =
  /** `given` is what was there before anybody wrote: unchanged, it is as good as it was. */
  | { kind: "text"; text: string; isLong: boolean; format: TextFormat; limits: Limits; given?: string }
  | { kind: "number"; text: string; isWhole: boolean; limits: Limits; given?: string }
  | { kind: "boolean"; value: boolean }
  /** `at` is the index of the option; empty for none. */
  | { kind: "choice"; options: readonly Option[]; at: string }
  /** Any of the options, by index. */
  | { kind: "choices"; options: readonly Option[]; chosen: readonly string[]; limits: Limits }
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
  /** An empty control leaves the field out. If not, there is a button for that. */
  mayBeBlank: boolean;
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

let keys = 0;

/** The draft of a value that somebody changes. `root` is the schema that references point into. */
export function draftOf(value: unknown, given: Schema, root: Schema = given, depth = 0): Draft {
  const schema = resolve(given, root);
  const options = optionsOf(schema);
  const at = options && placeOf(options, value);
  if (options !== undefined && at !== undefined) return { kind: "choice", options, at };
  const json: Draft = { kind: "json", text: JSON.stringify(value, null, 2) ?? "" };
  if (isComposite(schema) || options !== undefined || depth > MAX_DEPTH) return json;
  const type = typeOf(schema);
  const isA = (name: string) => type === undefined || type === name;
  if (typeof value === "string" && isA("string")) return { ...textDraft(value, schema), given: value };
  if (typeof value === "number" && (isA("number") || type === "integer")) {
    const text = String(value);
    return { kind: "number", text, isWhole: type === "integer", limits: limitsOf(schema), given: text };
  }
  if (typeof value === "boolean" && isA("boolean")) return { kind: "boolean", value };
  if (Array.isArray(value) && isA("array") && !hasTuple(schema)) {
    const itemSchema = resolve(itemsOf(schema), root);
    const items = value.map((item) => itemOf(draftOf(item, itemSchema, root, depth + 1)));
    return { kind: "list", items, itemSchema };
  }
  if (isObject(value) && isA("object")) return { kind: "object", fields: fieldsOf(value, schema, root, depth) };
  return json;
}

/** The draft of an object that somebody fills in: every property has its control, in the schema's order. */
export function blankDraft(schema: Schema): Draft & { kind: "object" } {
  const fields = Object.entries(propertiesOf(schema)).map(([name, property]) => {
    const resolved = resolve(property, schema);
    const draft = emptyDraft(resolved, schema);
    // Who is asked for anything writes a text, and no JSON.
    const isAnything = draft.kind === "json" && draft.text === "" && !isComposite(resolved) && !typeOf(resolved);
    const filled: Draft = isAnything ? textDraft("", resolved) : draft;
    return { ...fieldOf(name, schema, resolved), mayBeBlank: true, draft: filled };
  });
  return { kind: "object", fields };
}

/** A new item of a list. */
export function itemOf(draft: Draft): DraftItem {
  return { key: keys++, draft };
}

/** The draft of something that was not there before. */
export function emptyDraft(given: Schema, root: Schema): Draft {
  const schema = resolve(given, root);
  if (!isObject(schema)) return { kind: "json", text: "" };
  const { type, default: initial } = schema;
  const options = optionsOf(schema);
  if (options !== undefined) return { kind: "choice", options, at: placeOf(options, initial) ?? "" };
  if (isComposite(schema)) return initial === undefined ? { kind: "json", text: "" } : draftOf(initial, schema, root);
  const items = type === "array" ? optionsOf(resolve(itemsOf(schema), root)) : undefined;
  if (items !== undefined) {
    const chosen = (Array.isArray(initial) ? initial : []).flatMap((value) => placeOf(items, value) ?? []);
    return { kind: "choices", options: items, chosen, limits: limitsOf(schema) };
  }
  const isWritten = typeof initial === "string" || typeof initial === "number";
  switch (type) {
    case "string": {
      const text = isWritten ? String(initial) : "";
      return textDraft(formatOf(schema) === "date-time" ? localTime(text) : text, schema);
    }
    case "number":
    case "integer":
      return {
        kind: "number",
        text: isWritten ? String(initial) : "",
        isWhole: type === "integer",
        limits: limitsOf(schema),
      };
    case "boolean":
      return { kind: "boolean", value: initial === true };
    case "array":
      return draftOf(initial ?? [], schema, root);
    case "object":
      return draftOf(
        initial ?? Object.fromEntries(requiredOf(schema).map((name) => [String(name), undefined])),
        schema,
        root,
      );
    default:
      return initial === undefined ? { kind: "json", text: "" } : draftOf(initial, schema, root);
  }
}

function typeOf(schema: Schema): unknown {
  return isObject(schema) ? schema.type : undefined;
}

/** In the format of a browser's control: local time without a zone. */
function localTime(iso: string): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return "";
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function textDraft(text: string, schema: Schema): Draft & { kind: "text" } {
  const isLong = text.length > ONE_LINE || text.includes("\n");
  return { kind: "text", text, isLong, format: formatOf(schema), limits: limitsOf(schema) };
}

function fieldOf(name: string, schema: Schema, property: Schema): Omit<DraftField, "draft" | "mayBeBlank"> {
  return {
    name,
    label: titleOf(property) || name,
    about: descriptionOf(property),
    isRequired: requiredOf(schema).includes(name),
    schema: property,
  };
}

function fieldsOf(value: Record<string, unknown>, schema: Schema, root: Schema, depth: number): DraftField[] {
  const properties = propertiesOf(schema);
  const names = [...new Set([...Object.keys(properties), ...Object.keys(value)])];
  return names.map((name) => {
    const property = resolve(Object.hasOwn(properties, name) ? properties[name] : undefined, root);
    const isGiven = Object.hasOwn(value, name);
    const given = value[name];
    return {
      ...fieldOf(name, schema, property),
      mayBeBlank: false,
      draft: !isGiven
        ? { kind: "absent" }
        : given === undefined
          ? emptyDraft(property, root)
          : draftOf(given, property, root, depth + 1),
    };
  });
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
