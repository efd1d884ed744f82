import type { ApprovalId, ChatId, PendingApproval } from "../protocol.js";
import { type ApprovalsFilter, approvalsPath, withChat } from "./approvals-filter.js";
import { watchEvents } from "./events.js";
import { asHoldpointError, type HoldpointError, requestFailure } from "./holdpoint-error.js";
import { Listeners } from "./listeners.js";
import type { HoldpointOptions } from "./options.js";
import { type ListPage, MAX_PAGES, readPage, readPages } from "./read-pages.js";
import { retryUntilResponse } from "./retry-until-response.js";
import { Server } from "./server.js";

/** What is known of the inbox. */
export type ApprovalsState = {
  /** What is loaded; `undefined` until the first page arrives. */
  approvals: PendingApproval[] | undefined;
  /** Whether there may be more than what is loaded. */
  hasMore: boolean;
  isLoadingMore: boolean;
  /** The last error, until something is read again. */
  error: HoldpointError | undefined;
  /** Whether changes are being received. */
  isFollowing: boolean;
  /** When the list may have become outdated. */
  lostAt: Date | undefined;
};

const NOTHING: ApprovalsState = {
  approvals: undefined,
  hasMore: false,
  isLoadingMore: false,
  error: undefined,
  isFollowing: false,
  lostAt: undefined,
};

/** The most that the server gives in one page. */
const MAX_LIMIT = 1_000;
/** After this many changed chats, reading all that is loaded is less work than reading each chat. */
const MANY_CHATS = 20;

/** What has to be read. */
type Wanted = { whole: boolean; chats: Set<ChatId>; more: boolean };

/**
 * The inbox, page by page and live. A change of one chat costs one request for that chat, however much is loaded; after
 * a lost connection everything that is loaded is read again.
 */
export class ApprovalsFeed {
  readonly #server: Server;
  readonly #filter: ApprovalsFilter;
  readonly #pageSize: number;
  readonly #listeners = new Listeners();
  #state = NOTHING;
  /** The path of the next page. */
  #next: string | undefined;
  #stop: (() => void) | undefined;
  #want: ((change: (wanted: Wanted) => void) => void) | undefined;

  constructor(options: HoldpointOptions, filter: ApprovalsFilter, pageSize: number) {
    this.#server = new Server(options);
    this.#filter = filter;
    this.#pageSize = Math.min(MAX_LIMIT, Math.max(1, pageSize));
  }

  readonly getState = (): ApprovalsState => this.#state;

  /** The first subscriber starts it, the last one ends it. */
  readonly subscribe = (listener: () => void): (() => void) => {
    const remove = this.#listeners.add(listener);
    this.#stop ??= this.#start();
    return () => {
      remove();
      if (this.#listeners.size > 0) return;
      this.#stop?.();
      this.#stop = undefined;
      this.#want = undefined;
      this.#next = undefined;
      this.#state = NOTHING;
    };
  };

  /** Reads the next page, unless one is being read. */
  readonly loadMore = (): void => {
    if (!this.#state.hasMore || this.#state.isLoadingMore) return;
    this.#set({ isLoadingMore: true });
    this.#want?.((wanted) => {
      wanted.more = true;
    });
  };

  /** Removes a request that was decided here. The event would too, a moment later. */
  remove(approvalId: ApprovalId): void {
    const approvals = this.#state.approvals?.filter((open) => open.approvalId !== approvalId);
    if (approvals?.length !== this.#state.approvals?.length) this.#set({ approvals });
  }

  /** Reads a request again, with the others of its chat: it has one more vote. The event would too. */
  refresh(approvalId: ApprovalId): void {
    const chatId = this.#state.approvals?.find((open) => open.approvalId === approvalId)?.chatId;
    if (chatId !== undefined) this.#want?.(({ chats }) => chats.add(chatId));
  }

  #start(): () => void {
    const abort = new AbortController();
    const { signal } = abort;
    const wanted: Wanted = { whole: false, chats: new Set(), more: false };
    let isWorking = false;
    const onError = (error: HoldpointError) => {
      if (!signal.aborted) this.#set({ error, lostAt: this.#state.lostAt ?? new Date() });
    };
    // One read at a time, so that a page never overtakes a change.
    const work = async () => {
      if (isWorking) return;
      isWorking = true;
      for (let job = this.#take(wanted); job !== undefined && !signal.aborted; job = this.#take(wanted)) {
        try {
          const apply = await retryUntilResponse(this.#server, job, { signal, onRetry: onError });
          if (!signal.aborted) this.#set({ ...apply(), error: undefined, lostAt: undefined });
        } catch (error) {
          // The next event reads again; the next call of `loadMore` does, too.
          onError(asHoldpointError(requestFailure(error), "unreachable"));
        }
        if (!signal.aborted && !wanted.more && this.#state.isLoadingMore) this.#set({ isLoadingMore: false });
      }
      isWorking = false;
    };
    this.#want = (change) => {
      change(wanted);
      void work();
    };
    const stopEvents = watchEvents(this.#server.options, {
      onError,
      onConnection: (isFollowing) => {
        if (!signal.aborted)
          this.#set({ isFollowing, ...(!isFollowing && { lostAt: this.#state.lostAt ?? new Date() }) });
      },
      onEvent: (event) => {
        if (event.type === "ready" || event.type === "missed") wanted.whole = true;
        else if (event.type !== "approvals") return;
        else if (this.#filter.chat === undefined || this.#filter.chat === event.chatId) wanted.chats.add(event.chatId);
        void work();
      },
    });
    return () => {
      abort.abort();
      stopEvents();
    };
  }

  /** The most urgent read: what it returns makes the change to the state, once it has arrived. */
  #take(wanted: Wanted): ((signal: AbortSignal) => Promise<() => Partial<ApprovalsState>>) | undefined {
    if (
      wanted.whole ||
      wanted.chats.size > MANY_CHATS ||
      (wanted.chats.size > 0 && this.#state.approvals === undefined)
    ) {
      wanted.whole = false;
      wanted.chats.clear();
      return (signal) => this.#readAll(signal);
    }
    for (const chatId of wanted.chats) {
      wanted.chats.delete(chatId);
      return (signal) => this.#readChat(chatId, signal);
    }
    if (!wanted.more) return undefined;
    wanted.more = false;
    return (signal) => this.#readMore(signal);
  }

  /** As much as is loaded, from the beginning. */
  async #readAll(signal: AbortSignal) {
    const loaded = this.#state.approvals?.length ?? 0;
    const limit = Math.min(MAX_LIMIT, Math.max(loaded, this.#pageSize));
    const read = await this.#readUntil(approvalsPath(this.#filter, limit), Math.max(1, loaded), signal);
    return () => this.#loaded(read);
  }

  /** The next pages, until one has something. */
  async #readMore(signal: AbortSignal) {
    if (this.#next === undefined) return () => ({});
    const read = await this.#readUntil(this.#next, 1, signal);
    return () => {
      const before = this.#state.approvals ?? [];
      const known = new Set(before.map(({ approvalId }) => approvalId));
      const entries = [...before, ...read.entries.filter(({ approvalId }) => !known.has(approvalId))];
      return this.#loaded({ entries, next: read.next });
    };
  }

  async #readChat(chatId: ChatId, signal: AbortSignal) {
    const path = approvalsPath({ ...this.#filter, chat: chatId }, MAX_LIMIT);
    const now = await readPages<PendingApproval>(this.#server, path, signal);
    return () => {
      const { approvals = [], hasMore } = this.#state;
      return { approvals: withChat(approvals, chatId, now, hasMore) };
    };
  }

  /** Pages until there are enough entries. A page may be empty and have a next one. */
  async #readUntil(path: string, enough: number, signal: AbortSignal): Promise<ListPage<PendingApproval>> {
    const entries: PendingApproval[] = [];
    let next: string | undefined = path;
    for (let page = 0; next !== undefined && entries.length < enough && page < MAX_PAGES; page++) {
      const read: ListPage<PendingApproval> = await readPage<PendingApproval>(this.#server, next, signal);
      entries.push(...read.entries);
      next = read.next;
    }
    return { entries, next };
  }

  #loaded({ entries: approvals, next }: ListPage<PendingApproval>): Partial<ApprovalsState> {
    this.#next = next;
    return { approvals, hasMore: next !== undefined };
  }

  #set(change: Partial<ApprovalsState>): void {
    this.#state = { ...this.#state, ...change };
    this.#listeners.call();
  }
}
