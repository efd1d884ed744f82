/** The chat in the page's address, `?chat=…`. Without one a new chat begins, and gets an address. */
export function chatFromAddress(): { id: string; isNew: boolean } {
  const known = new URLSearchParams(location.search).get("chat");
  if (known) return { id: known, isNew: false };
  const id = crypto.randomUUID();
  history.replaceState(null, "", addressOfChat(id));
  return { id, isNew: true };
}

export function addressOfChat(id: string): string {
  return `?chat=${encodeURIComponent(id)}`;
}
