/**
 * The next text for a screen reader while an answer is being written: whole sentences, each once, and the rest when the
 * answer is complete. Word by word it would interrupt itself.
 */
export function nextSpeech(text: string, spokenLength: number, isComplete: boolean): string {
  const rest = text.slice(spokenLength);
  if (isComplete) return rest;
  const end = Math.max(...[...rest.matchAll(/[.!?:](?=\s)|[。！？\n]/g)].map((match) => match.index + 1), 0);
  return rest.slice(0, end);
}
