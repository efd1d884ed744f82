const PREFIX = "holdpoint-draft";

/*
 * Drafts are in sessionStorage: they survive a reload and a switch of chats, and are gone for the next user of this
 * browser. A chat without messages has no id yet; there is one draft for it.
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
    // The storage is full: the draft is still on the screen.
  }
}
