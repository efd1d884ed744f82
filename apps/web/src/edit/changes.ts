import { isObject } from "../prompt/isObject";

/** A field that differs. `undefined`: it is not there. */
export interface Change {
  /** Such as `items[2].name`; empty for the whole value. */
  path: string;
  before: unknown;
  after: unknown;
}

/** The fields in which two values differ, in order. */
export function changesOf(before: unknown, after: unknown, path = ""): Change[] {
  if (isObject(before) && isObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names.flatMap((name) =>
      changesOf(own(before, name), own(after, name), path === "" ? name : `${path}.${name}`),
    );
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const length = Math.max(before.length, after.length);
    return Array.from({ length }).flatMap((_, at) => changesOf(before[at], after[at], `${path}[${at}]`));
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ path, before, after }];
}

function own(value: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}
