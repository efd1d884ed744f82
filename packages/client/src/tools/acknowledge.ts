import type { AckRequest } from "../protocol.js";
import { retryUntilResponse } from "../server/retry-until-response.js";
import type { Server } from "../server/server.js";
import { isRetryable, ServerError } from "../server/server-error.js";

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
  return error instanceof ServerError && error.reason === "approval-required";
}

/** Gives the error a user-facing message and keeps the status. */
function explained(error: unknown): Error {
  if (!(error instanceof ServerError)) {
    return new Error("The result could not be sent: the server can't be reached.", { cause: error });
  }
  const words = WORDS[error.status];
  return words === undefined ? error : new ServerError(words, error.status, error.reason);
}

const WORDS: Record<number, string> = {
  404: "The server does not know this call.",
  409: "Another result was taken for this call before.",
  410: "The result came too late: the call has expired.",
};
