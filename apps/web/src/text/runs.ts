import { isLookalikeIn } from "./lookalikes";

/** A piece of a string: shown as it is, or as a visible substitute. */
export type Run =
  | { kind: "text"; text: string }
  /** A character that is invisible, or that moves its neighbours. */
  | { kind: "hidden"; code: string; name: string | undefined }
  /** A line break, a tab, or spaces at an edge, shown as a mark. */
  | { kind: "space"; mark: string; name: string; isBreak: boolean }
  /** A letter that looks like another one. */
  | { kind: "lookalike"; text: string; code: string };

/**
 * `prose` keeps line breaks and tabs. `data` marks them, as well as spaces at the edges and lookalike letters, because
 * every character matters there.
 */
export type Reading = "prose" | "data";

/*
 * Never shown raw: control, format, private, unassigned and surrogate code points, everything that Unicode ignores by
 * default, separators other than the plain space, blank symbols, and combining marks without a letter or stacked too
 * high. Exceptions: emoji sequences that Unicode recommends, pictographs with a variation selector, the ideographic
 * space between ideographs, and the visible signs that Arabic and Syriac write before a number.
 */
const CJK = "[\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Hang}\\u3001-\\u303F\\uFF01-\\uFF60]";
const SIGNS = "\\u0600-\\u0605\\u06DD\\u070F\\u0890\\u0891\\u08E2\\u{110BD}\\u{110CD}";
const SHOWN = `\\p{RGI_Emoji}|\\p{Extended_Pictographic}[\\uFE0E\\uFE0F]|(?<=${CJK})\\u3000(?=${CJK})`;
const BLANK = "\\u2800\\uFFFC\\u{1D159}";
const HIDDEN = `[[\\p{C}\\p{Default_Ignorable_Code_Point}\\p{Z}${BLANK}]--[ ${SIGNS}]]`;
const MARKS = "(?<![\\p{L}\\p{N}\\p{P}\\p{S}\\p{M}])\\p{M}|(?<=\\p{M}{4})\\p{M}";
// A string, not a literal: the `v` flag is newer than the compiler's target.
const SPECIAL = new RegExp(`(?<shown>${SHOWN})|(?<hidden>${HIDDEN}|${MARKS})`, "gv");
const EDGES = /^ +| +$/g;
/** Most texts: they need no closer look. */
const PLAIN = /^[!-~](?:[ -~]*[!-~])?$/;

/** Splits a string into the parts that can be shown as they are and those that need a substitute. */
export function runsOf(text: string, reading: Reading): Run[] {
  if (PLAIN.test(text)) return [{ kind: "text", text }];
  const special: { at: number; length: number; run: Run }[] = [];
  for (const match of text.matchAll(SPECIAL)) {
    const found = match.groups?.hidden;
    if (found === undefined) continue;
    const run = runOf(found, reading);
    if (run !== undefined) special.push({ at: match.index, length: found.length, run });
  }
  if (reading === "data") {
    for (const { index: at, 0: spaces } of text.matchAll(EDGES))
      special.push({ at, length: spaces.length, run: edge(spaces) });
    for (const { at, letter } of isLookalikeIn(text))
      special.push({ at, length: letter.length, run: { kind: "lookalike", text: letter, code: codeOf(letter) } });
    special.sort((a, b) => a.at - b.at);
  }
  return between(text, special);
}

/** The text as one visible line, for attributes and announcements. */
export function visible(text: string): string {
  return runsOf(text, "data").map(plain).join("").trim();
}

function plain(run: Run): string {
  switch (run.kind) {
    case "text":
      return run.text;
    case "lookalike":
      return `${run.text}[${run.code}]`;
    case "hidden":
      return `[${run.code}]`;
    case "space":
      return run.isBreak ? " ↵ " : " ";
  }
}

/** Replaces every hidden character of a text. */
export function replaceHidden(text: string, write: (character: string) => string): string {
  return text.replaceAll(SPECIAL, (found, shown: string | undefined) => (shown === undefined ? write(found) : found));
}

export function codeOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

function between(text: string, special: readonly { at: number; length: number; run: Run }[]): Run[] {
  const runs: Run[] = [];
  let reached = 0;
  for (const { at, length, run } of special) {
    if (at > reached) runs.push({ kind: "text", text: text.slice(reached, at) });
    runs.push(run);
    reached = at + length;
  }
  if (reached < text.length) runs.push({ kind: "text", text: text.slice(reached) });
  return runs;
}

function runOf(character: string, reading: Reading): Run | undefined {
  if (character === "\n" || character === "\t") {
    if (reading === "prose") return undefined;
    return character === "\n"
      ? { kind: "space", mark: "↵", name: "line break", isBreak: true }
      : { kind: "space", mark: "⇥", name: "tab", isBreak: false };
  }
  const code = codeOf(character);
  return { kind: "hidden", code, name: NAMES[code] };
}

function edge({ length }: string): Run {
  const name = length === 1 ? "space" : `${length} spaces`;
  return {
    kind: "space",
    mark: "␣".repeat(Math.min(length, 8)) + (length > 8 ? `×${length}` : ""),
    name,
    isBreak: false,
  };
}

/** The characters used in attacks. */
const NAMES: Record<string, string> = {
  "U+0000": "null",
  "U+000D": "carriage return",
  "U+001B": "escape",
  "U+00A0": "no-break space",
  "U+00AD": "soft hyphen",
  "U+034F": "combining grapheme joiner",
  "U+061C": "Arabic letter mark",
  "U+115F": "Hangul filler",
  "U+200B": "zero width space",
  "U+200C": "zero width non-joiner",
  "U+200D": "zero width joiner",
  "U+200E": "left-to-right mark",
  "U+200F": "right-to-left mark",
  "U+2028": "line separator",
  "U+2029": "paragraph separator",
  "U+202A": "left-to-right embedding",
  "U+202B": "right-to-left embedding",
  "U+202C": "pop directional formatting",
  "U+202D": "left-to-right override",
  "U+202E": "right-to-left override",
  "U+202F": "narrow no-break space",
  "U+2060": "word joiner",
  "U+2066": "left-to-right isolate",
  "U+2067": "right-to-left isolate",
  "U+2068": "first strong isolate",
  "U+2069": "pop directional isolate",
  "U+2800": "blank Braille pattern",
  "U+3000": "ideographic space",
  "U+3164": "Hangul filler",
  "U+FEFF": "byte order mark",
};
