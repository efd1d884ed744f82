import { isObject } from "../prompt/isObject";
import { confusable } from "../text/lookalikes";
import { type Run, runsOf } from "../text/runs";
import { wrapRuns } from "../text/wrap";
import { isAmbiguous } from "./isAmbiguous";
import { descriptionOf, itemsOf, propertiesOf, propertyOf, type Schema } from "./schema";

/** A key, or an index in a list. */
export interface Name {
  text: string;
  /** It could be mistaken for another name: each doubtful character is named. */
  isSpelled: boolean;
  /** The schema's description. */
  about: string | undefined;
}

export type Content =
  | { kind: "scalar"; value: number | boolean | null }
  /** One line of a string; `isQuoted` if it could be mistaken for something else, such as a number. */
  | { kind: "text"; runs: readonly Run[]; isQuoted: boolean }
  | { kind: "inline"; json: string }
  | { kind: "group"; of: "object" | "array"; size: number }
  /** One row of a list of objects; `place` is its position in the list, from 1. */
  | { kind: "record"; columns: readonly Name[]; cells: readonly unknown[]; place: number };

/** The unit of scrolling and counting: a field, a line of a string, a row of a table. */
export interface Line {
  /** Its path, such as `items[2].name`. */
  path: string;
  depth: number;
  name: Name | undefined;
  content: Content;
}

const INLINE = 60;
const MOST_COLUMNS = 6;

/** A value as readable lines; nothing is omitted. */
export function linesOf(value: unknown, schema?: Schema): Line[] {
  const lines: Line[] = [];
  if (isObject(value)) addFields(lines, value, schema, "", 0);
  else addValue(lines, { path: "", depth: 0, name: undefined }, value, schema);
  return lines;
}

type Place = Omit<Line, "content">;

function addFields(lines: Line[], value: Record<string, unknown>, schema: Schema, path: string, depth: number): void {
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  const names = namesOf(
    fields.map(([name]) => name),
    schema,
  );
  for (const [at, [key, field]] of fields.entries()) {
    const place = { path: path === "" ? key : `${path}.${key}`, depth, name: names[at] };
    addValue(lines, place, field, propertyOf(schema, key));
  }
}

function namesOf(keys: readonly string[], schema: Schema): Name[] {
  const spelled = confusable(keys, Object.keys(propertiesOf(schema)));
  return keys.map((text) => ({ text, isSpelled: spelled.has(text), about: descriptionOf(propertyOf(schema, text)) }));
}

function addValue(lines: Line[], place: Place, value: unknown, schema: Schema): void {
  if (typeof value === "string") {
    for (const [at, runs] of wrapRuns(runsOf(value, "data")).entries()) {
      const name = at === 0 ? place.name : undefined;
      lines.push({ ...place, name, content: { kind: "text", runs, isQuoted: isAmbiguous(value) } });
    }
  } else if (Array.isArray(value)) addArray(lines, place, value, schema);
  else if (isObject(value)) addObject(lines, place, value, schema);
  else lines.push({ ...place, content: { kind: "scalar", value: isScalar(value) ? value : null } });
}

function addObject(lines: Line[], place: Place, value: Record<string, unknown>, schema: Schema): void {
  const inline = inlineJson(Object.values(value), value);
  if (inline !== undefined) {
    lines.push({ ...place, content: { kind: "inline", json: inline } });
    return;
  }
  lines.push({ ...place, content: { kind: "group", of: "object", size: Object.keys(value).length } });
  addFields(lines, value, schema, place.path, place.depth + 1);
}

function addArray(lines: Line[], place: Place, items: readonly unknown[], schema: Schema): void {
  const inline = inlineJson(items, items);
  if (inline !== undefined) {
    lines.push({ ...place, content: { kind: "inline", json: inline } });
    return;
  }
  lines.push({ ...place, content: { kind: "group", of: "array", size: items.length } });
  const depth = place.depth + 1;
  const table = tableOf(items);
  if (table !== undefined) {
    const columns = namesOf(table.keys, itemsOf(schema));
    for (const [at, record] of table.records.entries()) {
      const cells = table.keys.map((key) => (Object.hasOwn(record, key) ? record[key] : undefined));
      const path = `${place.path}[${at}]`;
      lines.push({ path, depth, name: undefined, content: { kind: "record", columns, cells, place: at + 1 } });
    }
    return;
  }
  for (const [at, item] of items.entries()) {
    const name = { text: String(at + 1), isSpelled: false, about: undefined };
    addValue(lines, { path: `${place.path}[${at}]`, depth, name }, item, itemsOf(schema));
  }
}

/** The columns of a list of objects with short fields, in order of first appearance. */
function tableOf(items: readonly unknown[]): { keys: string[]; records: Record<string, unknown>[] } | undefined {
  const records = items.filter(isObject);
  if (records.length !== items.length || records.length === 0) return undefined;
  const keys = [...new Set(records.flatMap((record) => Object.keys(record)))];
  if (keys.length === 0 || keys.length > MOST_COLUMNS) return undefined;
  return records.every((record) => Object.values(record).every(isShort)) ? { keys, records } : undefined;
}

function isShort(value: unknown): boolean {
  return isScalar(value) || (typeof value === "string" && value.length <= INLINE && !value.includes("\n"));
}

function isScalar(value: unknown): value is number | boolean | null {
  return value === null || typeof value === "number" || typeof value === "boolean";
}

/** Short and flat: readable as one line of JSON. */
function inlineJson(values: readonly unknown[], whole: unknown): string | undefined {
  if (!values.every((value) => isScalar(value) || typeof value === "string")) return undefined;
  const json = JSON.stringify(whole);
  return json.length <= INLINE ? json : undefined;
}
