/*
 * Letters of other scripts, and Latin variants, that most fonts draw like an ASCII letter. Compatibility forms
 * (fullwidth, mathematical) are found by normalisation. Not all of Unicode's table: the rest looks different enough in
 * the page's fonts, or is rare.
 */
const PAIRS: Record<string, string> = {
  // Cyrillic
  ...pairs("аАвВеЕёЁкКмМнНоОрРсСтТуУхХіІїЇјЈѕЅԁԛԚԝԜһҺӏӀьЬгбѵѴ", "aABBeEeEkKMMHHoOpPcCTTyYxXiIiIjJsSdqQwWhhlIbbr6vV"),
  // Greek
  ...pairs("αΑΒΕΖΗΙικΚΜΝνοΟρΡτΤυΥΧχ", "aABEZHIikKMNvoOpPtTuYXx"),
  // Armenian, Cherokee, Latin variants
  ...pairs("օսոՕՏᎪᏴᎬᎻᎫᏦᏞᎷᏢᏒᎢᏙᎳᏃıɑɡɩʟ", "ounOSABEHJKLMPRTVWZiagiL"),
};

function pairs(odd: string, plain: string): Record<string, string> {
  const usual = [...plain];
  return Object.fromEntries([...odd].map((letter, at) => [letter, usual[at] ?? letter]));
}

const WORD = /[\p{L}\p{M}\p{N}_]+/gu;

/**
 * The letters of a text that look like ASCII letters and share a word with real ones, which never happens by accident.
 */
export function isLookalikeIn(text: string): { at: number; letter: string }[] {
  const found: { at: number; letter: string }[] = [];
  for (const { index, 0: word } of text.matchAll(WORD)) {
    if (!/[A-Za-z]/.test(word) || /^[\x20-\x7e]*$/.test(word)) continue;
    let at = index;
    for (const letter of word) {
      if (looksLike(letter) !== undefined) found.push({ at, letter });
      at += letter.length;
    }
  }
  return found;
}

/** The ASCII letter or digit that a character could be mistaken for. */
export function looksLike(character: string): string | undefined {
  if (/^[\x20-\x7e]$/.test(character)) return undefined;
  const pair = Object.hasOwn(PAIRS, character) ? PAIRS[character] : undefined;
  if (pair !== undefined) return pair;
  const folded = character.normalize("NFKC");
  return /^[A-Za-z0-9]+$/.test(folded) ? folded : undefined;
}

/** Two names with the same skeleton look alike to a quick reader. */
function skeleton(name: string): string {
  return [...name.normalize("NFKC")]
    .map((character) => looksLike(character) ?? character)
    .join("")
    .replaceAll(/[^\p{L}\p{N}\p{P}\p{S}\p{M}]/gu, "")
    .replaceAll(/[Il1|]/g, "l")
    .replaceAll(/[O0]/g, "0");
}

/** The names that could be mistaken for another one of them, or for an expected one. */
export function confusable(names: readonly string[], expected: readonly string[] = []): ReadonlySet<string> {
  const bySkeleton = new Map<string, Set<string>>();
  for (const name of [...names, ...expected]) {
    const key = skeleton(name);
    bySkeleton.set(key, (bySkeleton.get(key) ?? new Set()).add(name));
  }
  return new Set(names.filter((name) => (bySkeleton.get(skeleton(name))?.size ?? 0) > 1));
}
