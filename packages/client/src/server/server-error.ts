/** A non-2xx response. */
export class ServerError extends Error {
  override readonly name = "ServerError";

  constructor(
    message: string,
    /** The HTTP status. */
    readonly status: number,
    /** The server's reason, such as `approval-required`. */
    readonly reason?: string,
    /** How long the server asked to wait before a retry. */
    readonly retryAfterMs?: number,
  ) {
    super(message);
  }

  /** Reads the message from a response: `{reason}` in JSON, otherwise its text, otherwise its status. */
  static async of(response: Response): Promise<ServerError> {
    const text = await response.text().catch(() => "");
    const reason = reasonOf(text);
    const words = reason ?? (text.trim() || response.statusText || "no reason given");
    const message = `The server responded with ${response.status}: ${words}`;
    return new ServerError(message, response.status, reason, retryAfterMs(response.headers.get("retry-after")));
  }
}

/** Whether the same request may succeed later: the server did not respond, failed, or was busy. */
export function isRetryable(error: unknown): boolean {
  return !(error instanceof ServerError) || error.status >= 500 || error.status === 429;
}

function reasonOf(text: string): string | undefined {
  try {
    const answer: unknown = JSON.parse(text);
    if (typeof answer !== "object" || answer === null) return undefined;
    const { reason, detail, error } = answer as Partial<Record<string, unknown>>;
    return [reason, detail, error].find((said) => typeof said === "string" && said !== "") as string | undefined;
  } catch {
    return undefined;
  }
}

/** Seconds, or a date. */
function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) && ms > 0 ? ms : undefined;
}
