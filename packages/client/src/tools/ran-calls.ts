/** Upper bound on remembered calls: far more than can wait at the same time. */
const REMEMBERED = 5_000;

/** The calls that ran, shared by all executors of the page: two hooks that see the same call must not both run it. */
const ran = new Map<string, Promise<void>>();

/**
 * How long the lock is kept after a run, so that other tabs receive the outcome first. A fixed hold time, not a
 * backoff.
 */
const LEFT_ALONE_MS = 10_000;

/** Runs a call. If it already ran, returns that promise. */
export function runOnce(key: string, run: () => Promise<void>): Promise<void> {
  const before = ran.get(key);
  if (before !== undefined) return before;
  const running = inOneTab(key, run);
  ran.set(key, running);
  const [oldest] = ran.keys();
  if (ran.size > REMEMBERED && oldest !== undefined) ran.delete(oldest);
  return running;
}

/** Runs a call again, even if it already ran. */
export function runAgain(key: string, run: () => Promise<void>): Promise<void> {
  const running = run();
  ran.set(key, running);
  return running;
}

/** With the Web Locks API, a call that another tab is running is left to that tab. A closed tab releases its locks. */
function inOneTab(key: string, run: () => Promise<void>): Promise<void> {
  const locks: LockManager | undefined = globalThis.navigator?.locks;
  if (locks === undefined) return run();
  return new Promise((resolve, reject) => {
    const hold = async (lock: Lock | null) => {
      if (lock === null) return resolve();
      await run().then(resolve, reject);
      await new Promise((released) => setTimeout(released, LEFT_ALONE_MS));
    };
    // If locks are not allowed, run without one.
    locks.request(`holdpoint ${key}`, { ifAvailable: true }, hold).catch(() => run().then(resolve, reject));
  });
}
