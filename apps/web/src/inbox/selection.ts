/** Where the selection is, and what was around it. */
export interface Selection {
  id: string | undefined;
  /** The ids of the list in which it was made, to find its neighbours when it is gone. */
  among: readonly string[];
}

export const NO_SELECTION: Selection = { id: undefined, among: [] };

/**
 * The selection after the list has changed. It is by id, so it stays when others come and go. If the selected request is
 * gone, the next one that was behind it is selected, else the one before it.
 */
export function follow(selection: Selection, ids: readonly string[]): Selection {
  const { id, among } = selection;
  if (among === ids) return selection;
  if (id === undefined) return { id: ids[0], among: ids };
  const present = new Set(ids);
  if (present.has(id)) return { id, among: ids };
  const at = among.indexOf(id);
  const behind = among.slice(at + 1).find((other) => present.has(other));
  const before = among.slice(0, Math.max(0, at)).findLast((other) => present.has(other));
  return { id: at === -1 ? ids[0] : (behind ?? before ?? ids[0]), among: ids };
}

/** The selection some steps further. It stops at the ends. */
export function step(selection: Selection, by: number): Selection {
  const { id, among } = selection;
  const at = id === undefined ? -1 : among.indexOf(id);
  const to = Math.min(among.length - 1, Math.max(0, at + by));
  return { id: among[to] ?? id, among };
}
