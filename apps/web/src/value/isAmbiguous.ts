/** Whether a string without quotes could be mistaken for nothing, a number or a JSON keyword. */
export function isAmbiguous(text: string): boolean {
  return text.trim() === "" || /^(true|false|null|-?\d[\d.eE+-]*)$/.test(text.trim());
}
