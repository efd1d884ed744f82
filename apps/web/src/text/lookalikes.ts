/*
 * Letters of other scripts, and Latin variants, that most fonts draw like an ASCII letter. Compatibility forms (fullwidth,
 * mathematical) are found by normalisation. Not the whole of Unicode's table: what it leaves out is drawn differently enough in
 * the fonts of the page, or is rare.
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

/** The letters of a text that look like ASCII ones and stand in a word with real ones: nobody writes so by accident. */
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

/** The ASCII letter or digit that a character could be taken for. */
export function looksLike(character: string): string | undefined {
  if (/^[\x20-\x7e]$/.test(character)) return undefined;
  const pair = Object.hasOwn(PAIRS, character) ? PAIRS[character] : undefined;
  if (pair !== undefined) return pair;
  const folded = character.normalize("NFKC");
  return /^[A-Za-z0-9]+$/.test(folded) ? folded : undefined;
}

/** Two names with the same skeleton look the same to somebody who reads quickly. */
function skeleton(name: string): string {
  return [...name.normalize("NFKC")]
    .map((character) => looksLike(character) ?? character)
    .join("")
    .replaceAll(/[^\p{L}\p{N}\p{P}\p{S}\p{M}]/gu, "")
    .replaceAll(/[Il1|]/g, "l")
    .replaceAll(/[O0]/g, "0");
}

/** Those of the names that could be taken for another one of them, or for one of the expected ones. */
export function confusable(names: readonly string[], expected: readonly string[] = []): ReadonlySet<string> {
  const bySkeleton = new Map<string, Set<string>>();
  for (const name of [...names, ...expected]) {
    const key = skeleton(name);
    bySkeleton.set(key, (bySkeleton.get(key) ?? new Set()).add(name));
  }
  return new Set(names.filter((name) => (bySkeleton.get(skeleton(name))?.size ?? 0) > 1));
}
