import type { ProblemKind } from "../protocol.js";

/** The kinds of problems that the server reports, without their prefix. */
export type ProblemCode = ProblemKind extends infer KIND
  ? KIND extends `urn:holdpoint:problem:${infer CODE}`
    ? CODE
    : never
  : never;

/** What can go wrong without a problem report of the server. */
export type ClientErrorCode =
  /** The server did not answer: it is not there, or the network failed. */
  | "unreachable"
  /** The server took too long. */
  | "timeout"
  /** The connection broke before the end. */
  | "connection-lost"
  /** Something answered that is not a Holdpoint server, such as a web page: check `baseUrl` and the proxy. */
  | "not-holdpoint"
  /** A non-2xx response without a problem report: see `status`. */
  | "http-error"
  /** The server closed the connection for good. */
  | "connection-refused"
  /** The turn failed, as the server's `error` chunk says. */
  | "turn-failed"
  /** This page is sending another decision about the same request. */
  | "other-decision"
  /** This environment has no WebSocket: pass a class. */
  | "no-websocket";

/** The code of a {@link HoldpointError}. */
export type HoldpointErrorCode = ProblemCode | ClientErrorCode;

const PREFIX = "urn:holdpoint:problem:";

/** Everything that the package throws or reports. `code` says what happened; `message` is for people. */
export class HoldpointError extends Error {
  override readonly name = "HoldpointError";
  readonly code: HoldpointErrorCode;
  /** The HTTP status, if there was a response. */
  readonly status: number | undefined;
  /** The server's reason, in words. */
  readonly reason: string | undefined;
  /** The JSON pointer of the field at fault, if one is, such as `/input/amount`. */
  readonly pointer: string | undefined;
  /** How long the server asked to wait before a retry. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: HoldpointErrorCode,
    message: string,
    details: {
      status?: number | undefined;
      reason?: string | undefined;
      pointer?: string | undefined;
      retryAfterMs?: number | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.status = details.status;
    this.reason = details.reason;
    this.pointer = details.pointer;
    this.retryAfterMs = details.retryAfterMs;
  }

  /** Whether the same request may succeed later: the server did not respond, failed, or was busy. */
  get isRetryable(): boolean {
    if (this.status !== undefined) return this.status >= 500 || this.status === 429 || this.code === "not-holdpoint";
    return ["unreachable", "timeout", "connection-lost", "not-holdpoint"].includes(this.code);
  }

  /** Reads a non-2xx response: its problem report in JSON, otherwise its text, otherwise its status. */
  static async of(response: Response): Promise<HoldpointError> {
    const { status } = response;
    if (isWebPage(response)) return notHoldpoint(response);
    const text = await response.text().catch(() => "");
    const { code, reason, pointer } = problemOf(text);
    const words = reason ?? (text.trim() || response.statusText || "no reason given");
    const retryAfterMs = retryAfter(response.headers.get("retry-after"));
    const message = `The server responded with ${status}: ${words}`;
    return new HoldpointError(code ?? "http-error", message, { status, reason, pointer, retryAfterMs });
  }
}

/** Whether the same request may succeed later. */
export function isRetryable(error: unknown): boolean {
  return !(error instanceof HoldpointError) || error.isRetryable;
}

/** Whether the server does not know what was asked for. */
export function isUnknown(error: unknown): boolean {
  return error instanceof HoldpointError && error.status === 404 && error.code !== "not-holdpoint";
}

/**
 * Whether a web page came instead of data: a development server, a sign-in page, or another server's error. One that is
 * to be saved is a file of a call.
 */
export function isWebPage({ status, headers }: Response): boolean {
  const isPage = (headers.get("content-type") ?? "").startsWith("text/html");
  return status < 500 && isPage && !(headers.get("content-disposition") ?? "").startsWith("attachment");
}

/** The error for a response that a Holdpoint server would not send. */
export function notHoldpoint({ status, url }: Pick<Response, "status" | "url">, cause?: unknown): HoldpointError {
  const where = url === "" ? "This address" : url;
  const message = `${where} was not answered by a Holdpoint server (${status}). Check baseUrl and the proxy.`;
  return new HoldpointError("not-holdpoint", message, { status, cause });
}

/** The error of a request that got no response. An abort by the caller stays what it is. */
export function requestFailure(error: unknown): unknown {
  if (error instanceof HoldpointError) return error;
  const name = (error as Partial<Error> | null | undefined)?.name;
  if (name === "AbortError") return error;
  if (name === "TimeoutError") {
    return new HoldpointError("timeout", "The server did not answer in time.", { cause: error });
  }
  return new HoldpointError("unreachable", "The server does not answer.", { cause: error });
}

/** Any error as one of ours. */
export function asHoldpointError(error: unknown, code: HoldpointErrorCode): HoldpointError {
  if (error instanceof HoldpointError) return error;
  return new HoldpointError(code, error instanceof Error ? error.message : String(error), { cause: error });
}

function problemOf(text: string): {
  code?: ProblemCode | undefined;
  reason?: string | undefined;
  pointer?: string | undefined;
} {
  try {
    const answer: unknown = JSON.parse(text);
    if (typeof answer !== "object" || answer === null) return {};
    const { type, reason, detail, error, pointer } = answer as Partial<Record<string, unknown>>;
    // A newer server may report more kinds than this version lists.
    const code = typeof type === "string" && type.startsWith(PREFIX) ? type.slice(PREFIX.length) : undefined;
    const said = [reason, detail, error].find((each) => typeof each === "string" && each !== "");
    return {
      code: code as ProblemCode | undefined,
      reason: said as string | undefined,
      pointer: typeof pointer === "string" ? pointer : undefined,
    };
  } catch {
    return {};
  }
}

/** Seconds, or a date. */
function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) && ms > 0 ? ms : undefined;
}
