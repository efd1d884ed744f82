/** Whether a string could be taken for nothing, a number or a word of JSON if it were shown without quotes. */
export function isAmbiguous(text: string): boolean {
  return text.trim() === "" || /^(true|false|null|-?\d[\d.eE+-]*)$/.test(text.trim());
}
