import { type HoldpointOptions, identityOf } from "./options.js";

/** More than any page uses. A server that renders for its users would otherwise keep the keys of all of them. */
const MAX_KEPT = 100;

/**
 * Creates a function that returns a page's single instance for a server and key, so that two hooks, or a chat and the
 * inbox, share state. Functions among the options make no difference: the instance uses the latest.
 */
export function perServer<T>(make: (latest: () => HoldpointOptions) => T): (options: HoldpointOptions) => T {
  const made = new Map<string, { one: T; latest: HoldpointOptions }>();
  return (options) => {
    const identity = identityOf(options);
    const known = made.get(identity);
    if (known !== undefined) {
      known.latest = options;
      // The one that was used last is forgotten last.
      made.delete(identity);
      made.set(identity, known);
      return known.one;
    }
    const entry = { latest: options } as { one: T; latest: HoldpointOptions };
    entry.one = make(() => entry.latest);
    made.set(identity, entry);
    const [oldest] = made.keys();
    if (made.size > MAX_KEPT && oldest !== undefined) made.delete(oldest);
    return entry.one;
  };
}
