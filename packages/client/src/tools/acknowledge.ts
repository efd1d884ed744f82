import type { AckRequest } from "../protocol.js";
import { repeatUntilAnswered } from "../server/repeat.js";
import type { Server } from "../server/server.js";
import { isTemporary, ServerError } from "../server/server-error.js";

/**
 * Tells the server a call's result, until it is answered: the call's own deadline ends it. Sent again too where the server does not have
 * the call's approval yet (409 `approval-required`): the approval is on its way by another request.
 */
export async function acknowledge(server: Server, ack: AckRequest, signal: AbortSignal): Promise<void> {
  const isRepeated = (error: unknown) => isTemporary(error) || isUnapproved(error);
  try {
    await repeatUntilAnswered(
      server,
      (attempt) => server.request("/api/tools/ack", { method: "POST", body: ack, signal: attempt }),
      { signal, isTemporary: isRepeated },
    );
  } catch (error) {
    throw explained(error);
  }
}

function isUnapproved(error: unknown): boolean {
  return error instanceof ServerError && error.reason === "approval-required";
}

/** In words for a person; the status stays. */
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
