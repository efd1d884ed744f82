import type { AuditLine, AuditStep, ChatId } from "../protocol.js";
import { isWebPage, notHoldpoint, requestFailure } from "./holdpoint-error.js";
import { type ListPage, readPage } from "./read-pages.js";
import { Server } from "./server.js";
import type { ServerOptions } from "./server-options.js";

/** Which lines of the record. Filters are combined. */
export type AuditFilter = {
  /** Only this chat, in the order of its log. */
  chat?: ChatId | undefined;
  /** Only the chats of this subject, and what it decided in others. */
  subject?: string | undefined;
  /** Only this tool, by its name. */
  tool?: string | undefined;
  /** Only this step of a call. */
  step?: AuditStep | undefined;
  /** Only steps of this time or later, in ISO 8601. */
  since?: string | undefined;
  /** Only steps before this time, in ISO 8601. */
  until?: string | undefined;
};

/** The path of the first page. */
export function auditPath(filter: AuditFilter, limit: number): string {
  const { chat, subject, tool, step, since, until } = filter;
  const given = Object.entries({ limit, chat, subject, tool, step, since, until });
  const query = new URLSearchParams(
    given.flatMap(([name, value]) => (value === undefined || value === "" ? [] : [[name, String(value)]])),
  );
  return `/api/audit?${query}`;
}

/** One page of the record. */
export async function readAuditPage(server: Server, path: string, signal?: AbortSignal): Promise<ListPage<AuditLine>> {
  return await readPage(server, path, signal, linesOf);
}

/** Reads the record, oldest first: one line for each step of each call. It stops after `most` lines. Default: 1,000. */
export async function fetchAudit(
  options: ServerOptions & {
    filter?: AuditFilter | undefined;
    most?: number | undefined;
    signal?: AbortSignal | undefined;
  } = {},
): Promise<AuditLine[]> {
  const { filter = {}, most = MAX_LIMIT, signal } = options;
  const server = new Server(options);
  const lines: AuditLine[] = [];
  let next: string | undefined = auditPath(filter, Math.min(most, MAX_LIMIT));
  while (next !== undefined && lines.length < most) {
    const page: ListPage<AuditLine> = await readAuditPage(server, next, signal);
    lines.push(...page.entries);
    next = page.next;
  }
  return lines.slice(0, most);
}

/** The most that the server gives in one page. */
const MAX_LIMIT = 1_000;

/** One JSON object a line. Anything else does not come from a Holdpoint server. */
async function linesOf(response: Response): Promise<AuditLine[]> {
  if (isWebPage(response)) throw notHoldpoint(response);
  try {
    const text = await response.text();
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as AuditLine);
  } catch (error) {
    throw error instanceof SyntaxError ? notHoldpoint(response, error) : requestFailure(error);
  }
}
