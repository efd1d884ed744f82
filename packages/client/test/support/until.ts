/** Waits until something is so, looking again after every turn of the event loop; fails when it takes too long. */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  limitMs = 10_000,
): Promise<Exclude<NonNullable<T>, false>> {
  const deadline = Date.now() + limitMs;
  let last: unknown;
  for (;;) {
    try {
      const found = await look();
      if (found !== undefined && found !== null && found !== false) return found as Exclude<NonNullable<T>, false>;
      last = found;
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline) throw new Error(`Waited in vain for: ${what}`, { cause: last });
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/**
 * Lets time pass in which nothing may happen: nothing marks the end of what is not to come. A slow machine makes such a
 * test weaker, and never fails it.
 */
export function nothingFor(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
