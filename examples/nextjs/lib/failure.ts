/** A request that got no response of the Holdpoint server, or a refusal. */
export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly isSending: boolean;

  constructor(message: string, request: RequestInit | undefined, options?: ErrorOptions) {
    super(message, options);
    this.isSending = request?.method === "POST";
  }
}

export type Failure = {
  /**
   * `not-sent`: the server may not have what was sent. `lost`: it was sent, but the rest of the response is missing.
   * `turn-failed`: the server says that the turn failed.
   */
  kind: "not-sent" | "lost" | "turn-failed";
  message: string;
};

/** What the `error` of `useChat` means for the chat. */
export function failureOf(error: Error): Failure {
  const { message } = error;
  if (error instanceof RequestError) return { kind: error.isSending ? "not-sent" : "lost", message };
  // What browsers throw when a response breaks off.
  if (error instanceof TypeError) return { kind: "lost", message: "The connection was lost." };
  return { kind: "turn-failed", message };
}
