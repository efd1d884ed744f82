/** The chat in the page's address, `?chat=…`. Without one a new chat begins, and gets an address. */
export function chatFromAddress(): string {
  const known = new URLSearchParams(location.search).get("chat");
  if (known) return known;
  const id = crypto.randomUUID();
  history.replaceState(null, "", `?chat=${id}`);
  return id;
}
