import type { AuditLine, AuditStep, ChatId } from "../protocol.js";
import { isWebPage, notHoldpoint, requestFailure } from "./holdpoint-error.js";
import { type ListPage, readPage } from "./read-pages.js";
import type { RequestOptions, Server } from "./server.js";

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

/** The record of all calls: one line for each step of each call, oldest first. */
export class Audit {
  readonly #server: Server;

  constructor(server: Server) {
    this.#server = server;
  }

  /** The first lines, at most `limit`. Default: 1,000. */
  async list(
    filter: AuditFilter = {},
    { limit = MAX_LIMIT, signal }: RequestOptions & { limit?: number | undefined } = {},
  ): Promise<AuditLine[]> {
    const lines: AuditLine[] = [];
    if (limit < 1) return lines;
    for await (const line of this.#read(filter, Math.min(limit, MAX_LIMIT), signal)) {
      // The next line may be on a page that nobody needs.
      if (lines.push(line) >= limit) break;
    }
    return lines;
  }

  /** All lines, read page by page as they are asked for. */
  lines(filter: AuditFilter = {}, { signal }: RequestOptions = {}): AsyncGenerator<AuditLine, void> {
    return this.#read(filter, MAX_LIMIT, signal);
  }

  async *#read(filter: AuditFilter, pageSize: number, signal?: AbortSignal): AsyncGenerator<AuditLine, void> {
    let next: string | undefined = auditPath(filter, pageSize);
    while (next !== undefined) {
      const page: ListPage<AuditLine> = await readAuditPage(this.#server, next, signal);
      yield* page.entries;
      next = page.next;
    }
  }
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
