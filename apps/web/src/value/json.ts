import { replaceHidden } from "../text/runs";

/**
 * JSON that hides nothing: invisible characters are written as JSON escapes, so that it is the same value wherever it
 * is pasted.
 */
export function jsonText(value: unknown): string {
  const json = JSON.stringify(value, null, 2) ?? "null";
  // Line breaks between fields stay; those inside strings are already escaped.
  return replaceHidden(json, (character) => (character === "\n" ? character : unitsOf(character).join("")));
}

function unitsOf(character: string): string[] {
  return Array.from({ length: character.length }, (_, at) => {
    return `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`;
  });
}

/** A line of JSON, split where strings begin and end: each keeps its own direction. */
export function tokensOf(line: string): string[] {
  return line.match(/"(?:[^"\\]|\\.)*"?|[^"]+/g) ?? [];
}
