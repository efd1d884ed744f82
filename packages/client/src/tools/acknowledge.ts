import type { AckRequest } from "../protocol.js";
import { Backoff } from "../server/backoff.js";
import { type Server, ServerError } from "../server/server.js";

/** How often a result is sent at most: with the growing pauses, for about a minute. */
const MAX_ATTEMPTS = 12;

/**
 * Tells the server a call's result. Sent again where the server did not answer or was busy, and where it does not have the call's
 * approval yet (409 `approval-required`): the approval is on its way by another request.
 */
export async function acknowledge(server: Server, ack: AckRequest, signal: AbortSignal): Promise<void> {
  const backoff = new Backoff(100, 10_000);
  for (;;) {
    try {
      await server.request("/api/tools/ack", { method: "POST", body: ack, signal });
      return;
    } catch (error) {
      if (signal.aborted || !isTemporary(error) || backoff.attempts + 1 >= MAX_ATTEMPTS) throw explained(error);
      await backoff.pause(signal);
    }
  }
}

function isTemporary(error: unknown): boolean {
  if (!(error instanceof ServerError)) return true;
  return error.status >= 500 || error.status === 429 || error.reason === "approval-required";
}

/** In words for a person; the status stays. */
function explained(error: unknown): Error {
  if (!(error instanceof ServerError)) {
    return new Error("The result could not be sent: the server can't be reached.", { cause: error });
  }
  const words =
    error.reason === "approval-required"
      ? "The result was not taken: the call still waits for its approval."
      : WORDS[error.status];
  return words === undefined ? error : new ServerError(words, error.status, error.reason);
}

const WORDS: Record<number, string> = {
  404: "The server does not know this call.",
  409: "Another result was taken for this call before.",
  410: "The result came too late: the call has expired.",
};
