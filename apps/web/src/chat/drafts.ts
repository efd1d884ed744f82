const PREFIX = "holdpoint-draft";

/*
 * In the tab's own storage: it survives a reload and a look at another chat, and is not there for the next person at this
 * browser. A chat that nothing was said in has no name yet; there is one draft for it.
 */

function nameOf(chatId: string | undefined): string {
  return chatId === undefined ? PREFIX : `${PREFIX} ${chatId}`;
}

export function readDraft(chatId: string | undefined): string {
  return sessionStorage.getItem(nameOf(chatId)) ?? "";
}

export function writeDraft(chatId: string | undefined, text: string): void {
  try {
    if (text === "") sessionStorage.removeItem(nameOf(chatId));
    else sessionStorage.setItem(nameOf(chatId), text);
  } catch {
    // The storage is full: the draft is on the screen all the same.
  }
}
