import { Backoff } from "./backoff.js";
import type { Server } from "./server.js";
import { isTemporary, ServerError } from "./server-error.js";
import { withTimeLimit } from "./time-limit.js";

/** How long the server may take for one attempt. */
const ATTEMPT_MS = 15_000;
/** The longest that a `retry-after` is believed. */
const MAX_WAIT_MS = 60_000;

/**
 * Makes a request until it is answered: again where the server did not answer, failed or was busy, with growing pauses, and at once when a
 * server that was away is back. What the server refuses is thrown. Only for requests that change nothing when they come twice.
 */
export async function repeatUntilAnswered<T>(
  server: Server,
  attempt: (signal: AbortSignal) => Promise<T>,
  options: {
    signal?: AbortSignal | undefined;
    /** Told before each pause. */
    onRetry?: ((error: Error) => void) | undefined;
    /** Which failures may pass. */
    isTemporary?: ((error: unknown) => boolean) | undefined;
  } = {},
): Promise<T> {
  const { signal = new AbortController().signal, onRetry } = options;
  const backoff = new Backoff(200, 5_000);
  for (;;) {
    try {
      return await withTimeLimit(ATTEMPT_MS, signal, attempt);
    } catch (error) {
      if (signal.aborted || !(options.isTemporary ?? isTemporary)(error)) throw error;
      onRetry?.(error instanceof Error ? error : new Error(String(error)));
      const wait = error instanceof ServerError ? (error.retryAfterMs ?? 0) : 0;
      await server.reachability.pause(backoff, signal, Math.min(wait, MAX_WAIT_MS));
    }
  }
}
