import type { Run } from "./runs";

/** A longer line could be taller than the card, and would not be visible as a whole. */
const LONGEST = 160;

/** Breaks runs into lines: after each line break, and where a line gets too long. */
export function wrapRuns(runs: readonly Run[]): Run[][] {
  const lines: Run[][] = [[]];
  let length = 0;
  const push = (run: Run, size: number) => {
    lines.at(-1)?.push(run);
    length += size;
  };
  const next = () => {
    lines.push([]);
    length = 0;
  };
  for (const run of runs) {
    if (run.kind !== "text") {
      if (length >= LONGEST) next();
      push(run, 4);
      if (run.kind === "space" && run.isBreak) next();
      continue;
    }
    let rest = run.text;
    while (length + rest.length > LONGEST) {
      const end = cut(rest, LONGEST - length);
      if (end > 0) push({ kind: "text", text: rest.slice(0, end) }, end);
      rest = rest.slice(end);
      if (rest !== "") next();
    }
    if (rest !== "") push({ kind: "text", text: rest }, rest.length);
  }
  // A text that ends with a line break has no extra empty line.
  if (lines.length > 1 && lines.at(-1)?.length === 0) lines.pop();
  return lines;
}

/** After a space if there is one, and never inside a grapheme. */
function cut(text: string, room: number): number {
  if (room <= 0) return 0;
  const space = text.lastIndexOf(" ", room);
  if (space > room / 2) return space + 1;
  let end = room;
  while (end > 0 && isWithin(text, end)) end -= 1;
  return end > 0 ? end : room;
}

/** Whether a cut there would split a grapheme: a surrogate pair, a letter and its mark, a joined emoji. */
function isWithin(text: string, at: number): boolean {
  const next = String.fromCodePoint(text.codePointAt(at) ?? 0);
  const isSecondHalf = /[\uDC00-\uDFFF]/.test(text.charAt(at)) && /[\uD800-\uDBFF]/.test(text.charAt(at - 1));
  return isSecondHalf || /^(\p{M}|\p{Emoji_Modifier}|\u200D)/u.test(next) || text.charAt(at - 1) === "\u200D";
}
