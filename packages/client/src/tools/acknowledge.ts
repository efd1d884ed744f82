import type { AckRequest } from "../protocol.js";
import { asHoldpointError, HoldpointError, isRetryable } from "../server/holdpoint-error.js";
import { retryUntilResponse } from "../server/retry-until-response.js";
import type { Server } from "../server/server.js";

/**
 * Sends a call's result, and retries until the server responds or the call's deadline ends it. Also retries while the
 * server lacks the call's approval (409 `approval-required`), which another request is delivering.
 */
export async function acknowledge(server: Server, ack: AckRequest, signal: AbortSignal): Promise<void> {
  const isRepeated = (error: unknown) => isRetryable(error) || isUnapproved(error);
  try {
    await retryUntilResponse(
      server,
      (attempt) => server.request("/api/tools/ack", { method: "POST", body: ack, signal: attempt }),
      { signal, isRetryable: isRepeated },
    );
  } catch (error) {
    throw explained(error);
  }
}

function isUnapproved(error: unknown): boolean {
  const isRefusal = error instanceof HoldpointError && error.status === 409;
  return isRefusal && (error.code === "approval-required" || error.reason === "approval-required");
}

/** Gives the error a user-facing message and keeps the status. */
function explained(thrown: unknown): HoldpointError {
  const error = asHoldpointError(thrown, "unreachable");
  const { code, status, reason } = error;
  if (status === undefined) {
    return new HoldpointError(code, "The result could not be sent: the server can't be reached.", { cause: thrown });
  }
  const words = WORDS[status];
  return words === undefined ? error : new HoldpointError(code, words, { status, reason, cause: thrown });
}

const WORDS: Record<number, string> = {
  404: "The server does not know this call.",
  409: "Another result was taken for this call before.",
  410: "The result came too late: the call has expired.",
};
