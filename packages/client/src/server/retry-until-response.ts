import { Backoff } from "./backoff.js";
import { asHoldpointError, HoldpointError, isRetryable, requestFailure } from "./holdpoint-error.js";
import type { Server } from "./server.js";
import { withTimeLimit } from "./time-limit.js";

/** How long one attempt may take. */
const ATTEMPT_MS = 15_000;
/** The longest `retry-after` that is respected. */
const MAX_WAIT_MS = 60_000;

/**
 * Retries a request until the server responds: with backoff when it did not respond, failed or was busy, and at once
 * when an unreachable server responds again. Throws any other failure. For idempotent requests only.
 */
export async function retryUntilResponse<T>(
  server: Server,
  attempt: (signal: AbortSignal) => Promise<T>,
  options: {
    signal?: AbortSignal | undefined;
    /** Called before each delay. */
    onRetry?: ((error: HoldpointError) => void) | undefined;
    /** Which failures are worth a retry. */
    isRetryable?: ((error: unknown) => boolean) | undefined;
  } = {},
): Promise<T> {
  const { signal = new AbortController().signal, onRetry } = options;
  const backoff = new Backoff(200, 5_000);
  for (;;) {
    // Also after a pause: an aborted request needs no other attempt.
    signal.throwIfAborted();
    try {
      return await withTimeLimit(ATTEMPT_MS, signal, attempt);
    } catch (error) {
      if (signal.aborted || !(options.isRetryable ?? isRetryable)(error)) throw error;
      onRetry?.(asHoldpointError(requestFailure(error), "unreachable"));
      const wait = error instanceof HoldpointError ? (error.retryAfterMs ?? 0) : 0;
      await server.reachability.pause(backoff, signal, Math.min(wait, MAX_WAIT_MS));
    }
  }
}
