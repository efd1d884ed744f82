import type { ChatId, Me, ServerStatus as ServerReport, ToolSpec, Violation } from "../protocol.js";
import { Approvals } from "./approvals.js";
import { Audit } from "./audit.js";
import { Chats } from "./chats.js";
import { clockOf } from "./clock.js";
import { type EventsListener, watchEvents } from "./events.js";
import { Grants } from "./grants.js";
import { Holds } from "./holds.js";
import type { HoldpointOptions } from "./options.js";
import type { ServerStatus } from "./reachability.js";
import { type RequestOptions, Server } from "./server.js";

/** The profile of a stream, as `holdpoint check` names it. */
export type CheckProfile = "ai-sdk" | "adk-sse" | "adk-live";

/** One Holdpoint server, as one user. Made by {@link createHoldpoint}. */
export class Holdpoint {
  readonly #server: Server;
  /** The user's chats: their messages and files. */
  readonly chats: Chats;
  /** What waits for a person or a browser, or did. */
  readonly holds: Holds;
  /** The inbox: approval requests and the decisions on them. */
  readonly approvals: Approvals;
  /** What runs without a question. */
  readonly grants: Grants;
  /** The record of all calls. */
  readonly audit: Audit;

  constructor(options: HoldpointOptions) {
    const server = new Server(options);
    this.#server = server;
    this.chats = new Chats(server);
    this.holds = new Holds(server);
    this.approvals = new Approvals(server);
    this.grants = new Grants(server);
    this.audit = new Audit(server);
  }

  /** What it was made with. */
  get options(): HoldpointOptions {
    return this.#server.options;
  }

  /** Who the requests with these options are: subject, roles and groups, and until when the credential is accepted. */
  async me({ signal }: RequestOptions = {}): Promise<Me> {
    return await this.#server.json<Me>("/api/me", { signal });
  }

  /** What the server consists of: model, MCP servers, tools and their policies, limits. It needs the role `admin`. */
  async status({ signal }: RequestOptions = {}): Promise<ServerReport> {
    return await this.#server.json<ServerReport>("/api/status", { signal });
  }

  /** The server's tools, or the tools of one chat: where each runs, and whether it needs an approval. */
  async tools({ chatId, signal }: RequestOptions & { chatId?: ChatId | undefined } = {}): Promise<ToolSpec[]> {
    const query = chatId === undefined ? "" : `?chatId=${encodeURIComponent(chatId)}`;
    return await this.#server.json<ToolSpec[]>(`/api/tools${query}`, { signal });
  }

  /**
   * Checks a captured stream against the rules of the AI SDK's clients, as `holdpoint check` does: SSE, one JSON chunk per
   * line, or a transcript. Resolves with the violations, at most 1,000.
   */
  async check(
    capture: string,
    options: RequestOptions & {
      /** Default: `ai-sdk`. */
      profile?: CheckProfile | undefined;
      /** `progressive`: the client requested progressive text. */
      text?: "progressive" | undefined;
    } = {},
  ): Promise<Violation[]> {
    const { profile = "ai-sdk", text, signal } = options;
    const query = new URLSearchParams({ profile, ...(text !== undefined && { text }) });
    return await this.#server.json<Violation[]>(`/api/check?${query}`, { method: "POST", text: capture, signal });
  }

  /**
   * The current time by the server's clock, in milliseconds since the epoch: for a countdown to `expiresAt`. It is learned
   * from the responses, and this machine's time until then.
   */
  now(): number {
    return clockOf(this.options).now();
  }

  /**
   * Follows `GET /api/events` until the returned function is called. All tabs of the browser share one connection per
   * server and key, which reconnects with backoff.
   */
  watchEvents(listener: EventsListener): () => void {
    return watchEvents(this.options, listener);
  }

  /**
   * Reports whether the server responds: at once, and on every change, until the returned function is called. It also
   * follows the events, so that an outage is noticed without any request.
   */
  watchServer(listener: (status: ServerStatus) => void): () => void {
    const { reachability } = this.#server;
    const unsubscribe = reachability.subscribe(() => listener(reachability.getStatus()));
    listener(reachability.getStatus());
    const stopEvents = this.watchEvents({ onEvent: () => {} });
    return () => {
      unsubscribe();
      stopEvents();
    };
  }
}

/**
 * A client of one Holdpoint server, as one user.
 *
 * ```ts
 * const holdpoint = createHoldpoint({ baseUrl: "https://agent.example", apiKey });
 * for (const { approvalId } of await holdpoint.approvals.list()) {
 *   await holdpoint.approvals.decide(approvalId, { approved: true });
 * }
 * ```
 */
export function createHoldpoint(options: HoldpointOptions = {}): Holdpoint {
  return new Holdpoint(options);
}

/** A client, or the options to make one with. */
export type ClientOrOptions = HoldpointOptions & {
  /** The client to use. It has its own server options, so no other may be given. */
  client?: Holdpoint | undefined;
};

/** Options with a client as options with the client's. */
export function withServerOptions<T extends ClientOrOptions>(options: T): Omit<T, "client"> {
  const { client, ...others } = options;
  if (client === undefined) return others;
  const { baseUrl, apiKey, headers, credentials, fetch, ticket, events } = options;
  const given = Object.entries({ baseUrl, apiKey, headers, credentials, fetch, ticket, events });
  const [other] = given.find(([, value]) => value !== undefined) ?? [];
  if (other !== undefined) throw new TypeError(`The client has options of its own: give ${other} to createHoldpoint.`);
  return { ...others, ...client.options };
}
