/** How many calls are remembered: far more than can wait at the same time. */
const REMEMBERED = 5_000;

/** What ran, over all executors of the page: two hooks that see the same call must not both run it. */
const ran = new Map<string, Promise<void>>();

/** Runs a call, unless it ran before: then that is what comes back. */
export function runOnce(key: string, run: () => Promise<void>): Promise<void> {
  const before = ran.get(key);
  if (before !== undefined) return before;
  const running = run();
  ran.set(key, running);
  const [oldest] = ran.keys();
  if (ran.size > REMEMBERED && oldest !== undefined) ran.delete(oldest);
  return running;
}

/** The call may run once more. */
export function forgetRun(key: string): void {
  ran.delete(key);
}
