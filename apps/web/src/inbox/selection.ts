/** Where the selection is, and what was around it. */
export interface Selection {
  id: string | undefined;
  /** The ids of the last list that had it, to find its neighbours when it is gone. */
  among: readonly string[];
}

export const NO_SELECTION: Selection = { id: undefined, among: [] };

/**
 * The selection after the list has changed. It is by id, and what is read stays: a request that is gone stays selected
 * until the person moves. Only one that the person has decided gives way to the next one, else to the one before it.
 */
export function follow(
  selection: Selection,
  ids: readonly string[],
  isDecidedHere: (id: string) => boolean,
): Selection {
  const { id, among } = selection;
  if (id === undefined) return ids.length === 0 && among === ids ? selection : { id: ids[0], among: ids };
  if (ids.includes(id)) return among === ids ? selection : { id, among: ids };
  return isDecidedHere(id) ? { id: neighbour(selection, ids, 1), among: ids } : selection;
}

/** The selection one step further. It stops at the ends of the list; from a request that is gone, it goes to a neighbour. */
export function step(selection: Selection, ids: readonly string[], by: 1 | -1): Selection {
  const { id } = selection;
  const at = id === undefined ? -1 : ids.indexOf(id);
  if (at === -1) return { id: neighbour(selection, ids, by), among: ids };
  return { id: ids[Math.min(ids.length - 1, Math.max(0, at + by))], among: ids };
}

/** What is beside a request that is gone; `undefined` if nothing is left. */
function neighbour({ id, among }: Selection, ids: readonly string[], by: 1 | -1): string | undefined {
  const at = id === undefined ? -1 : among.indexOf(id);
  if (at === -1) return ids[0];
  const present = new Set(ids);
  const behind = among.slice(at + 1).find((other) => present.has(other));
  const before = among.slice(0, at).findLast((other) => present.has(other));
  // What has come since is as good as behind it.
  const added = ids.find((other) => !among.includes(other));
  return by === 1 ? (behind ?? added ?? before) : (before ?? behind ?? added);
}
