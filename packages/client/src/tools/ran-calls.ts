/** Upper bound on remembered calls: far more than can wait at the same time. */
const REMEMBERED = 5_000;

/** The calls that ran, shared by all executors of the page: two hooks that see the same call must not both run it. */
const ran = new Map<string, Promise<RunEnd>>();

/**
 * How long the lock is kept after a run, so that other tabs receive the outcome first. A fixed hold time, not a
 * backoff.
 */
const LEFT_ALONE_MS = 10_000;

/** How a run ended. `withdrawn`: its page was left before there was a result, so the call may run again. */
export type RunEnd = "ended" | "withdrawn";

/** Runs a call. If it already ran, returns that promise. */
export function runOnce(key: string, run: () => Promise<RunEnd>): Promise<RunEnd> {
  const before = ran.get(key);
  if (before !== undefined) return before;
  const running = remember(key, inOneTab(key, run));
  const [oldest] = ran.keys();
  if (ran.size > REMEMBERED && oldest !== undefined) ran.delete(oldest);
  return running;
}

/** Runs a call again, even if it already ran. */
export function runAgain(key: string, run: () => Promise<RunEnd>): Promise<RunEnd> {
  return remember(key, run());
}

function remember(key: string, run: Promise<RunEnd>): Promise<RunEnd> {
  const running = run.then((end) => {
    if (end === "withdrawn" && ran.get(key) === running) ran.delete(key);
    return end;
  });
  ran.set(key, running);
  return running;
}

/** With the Web Locks API, a call that another tab is running is left to that tab. A closed tab releases its locks. */
function inOneTab(key: string, run: () => Promise<RunEnd>): Promise<RunEnd> {
  const locks: LockManager | undefined = globalThis.navigator?.locks;
  if (locks === undefined) return run();
  return new Promise((resolve, reject) => {
    const hold = async (lock: Lock | null) => {
      if (lock === null) return resolve("ended");
      const running = run();
      await running.then(resolve, reject);
      const end = await running.catch(() => undefined);
      if (end !== "withdrawn") await new Promise((released) => setTimeout(released, LEFT_ALONE_MS));
    };
    // If locks are not allowed, run without one.
    locks.request(`holdpoint ${key}`, { ifAvailable: true }, hold).catch(() => run().then(resolve, reject));
  });
}
