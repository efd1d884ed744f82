import { useMemo } from "react";
import { jsonLinesOf } from "./JsonLines";
import { jsonText } from "./json";
import { linesOf } from "./lines";
import type { Schema } from "./schema";
import { useSeen } from "./seen";

/** The id under which the lines of a value's JSON are remembered. */
export function jsonIdOf(id: string): string {
  return `${id} json`;
}

/** How many lines of a value have never been in view. Reading it as fields or as JSON both count. */
export function useUnread(id: string, value: unknown, schema?: Schema): number {
  const seen = useSeen(id);
  const seenJson = useSeen(jsonIdOf(id));
  const hasJson = seenJson.size > 0;
  const count = useMemo(() => (value === undefined ? 0 : linesOf(value, schema).length), [value, schema]);
  const jsonCount = useMemo(() => (hasJson ? jsonLinesOf(jsonText(value)).length : Infinity), [hasJson, value]);
  return Math.max(0, Math.min(count - seen.size, jsonCount - seenJson.size));
}
