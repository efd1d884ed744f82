/** How many calls are remembered: far more than can wait at the same time. */
const REMEMBERED = 5_000;

/** What ran, over all executors of the page: two hooks that see the same call must not both run it. */
const ran = new Map<string, Promise<void>>();

/** How long the other tabs of the browser leave a call alone after it ran here: until they have its outcome. */
const LEFT_ALONE_MS = 10_000;

/** Runs a call, unless it ran before: then that is what comes back. */
export function runOnce(key: string, run: () => Promise<void>): Promise<void> {
  const before = ran.get(key);
  if (before !== undefined) return before;
  const running = inOneTab(key, run);
  ran.set(key, running);
  const [oldest] = ran.keys();
  if (ran.size > REMEMBERED && oldest !== undefined) ran.delete(oldest);
  return running;
}

/** Runs a call once more, whoever ran it before. */
export function runAgain(key: string, run: () => Promise<void>): Promise<void> {
  const running = run();
  ran.set(key, running);
  return running;
}

/** Where the browser has locks, a call that another tab of it runs is left to that tab. A tab that is gone has no locks. */
function inOneTab(key: string, run: () => Promise<void>): Promise<void> {
  const locks: LockManager | undefined = globalThis.navigator?.locks;
  if (locks === undefined) return run();
  return new Promise((resolve, reject) => {
    const hold = async (lock: Lock | null) => {
      if (lock === null) return resolve();
      await run().then(resolve, reject);
      await new Promise((released) => setTimeout(released, LEFT_ALONE_MS));
    };
    // Where locks are not allowed, it runs without.
    locks.request(`holdpoint ${key}`, { ifAvailable: true }, hold).catch(() => run().then(resolve, reject));
  });
}
