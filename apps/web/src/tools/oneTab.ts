/** How long after its work a tab keeps others from doing the same: until the server has told everybody the outcome. */
const GRACE_MS = 15_000;

/** What this very tab does or has just done: it may do it again, when the person asks. */
const ours = new Set<string>();

interface Work<T> {
  /** The same in every tab. */
  name: string;
  run: () => Promise<T>;
  /** Asked when another tab has let go: whether anything is left to do. Without it, nobody takes over. */
  isDone?: () => boolean;
}

/**
 * Runs something in one tab of this browser only. The lock goes away with its tab, so that after a reload in the middle
 * the work is done after all; a tab that comes second waits, and does nothing if the work is done by then.
 */
export function inOneTab<T>({ name, run, isDone }: Work<T>): Promise<T> {
  // Locks exist in secure contexts only.
  if (navigator.locks === undefined || ours.has(name)) return run();
  return new Promise<T>((resolve, reject) => {
    const options = { ifAvailable: isDone === undefined };
    void navigator.locks.request(`holdpoint-call-${name}`, options, async (lock) => {
      if (lock === null || isDone?.()) return;
      ours.add(name);
      const work = run();
      work.then(resolve, reject);
      await work.catch(() => undefined);
      await new Promise((release) => setTimeout(release, GRACE_MS));
      ours.delete(name);
    });
  });
}
