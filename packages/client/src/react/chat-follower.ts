import type { Chat } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import type { ApprovalId, ChatId, ServerEvent } from "../protocol.js";
import { Backoff } from "../server/backoff.js";
import { storedMessages } from "../server/chats.js";
import { watchEvents } from "../server/events.js";
import { asHoldpointError } from "../server/holdpoint-error.js";
import { Holds, type ListedCalls } from "../server/holds.js";
import { retryUntilResponse } from "../server/retry-until-response.js";
import type { HoldpointSession } from "./holdpoint-session.js";
import {
  type ChatRecord,
  hasOutdated,
  isBeingWritten,
  mergeEarlier,
  mergeRecord,
  settledCalls,
} from "./merge-record.js";

/**
 * Keeps a chat in sync with the server's record: actions of other tabs, the inbox and deadlines, superseded messages,
 * and the outcome of lost requests. It reads the record on server events, after every response and decision, and on
 * reconnect.
 */
export class ChatFollower<UI_MESSAGE extends UIMessage> {
  readonly #session: HoldpointSession<UI_MESSAGE>;
  readonly #chatId: ChatId;
  readonly #chat: Chat<UI_MESSAGE>;
  readonly #calls: () => ListedCalls | undefined;
  readonly #mayResume: () => boolean;
  #abort: AbortController | undefined;
  #reading: Promise<void> | undefined;
  #isStale = false;

  constructor(options: {
    session: HoldpointSession<UI_MESSAGE>;
    chatId: ChatId;
    chat: Chat<UI_MESSAGE>;
    calls: () => ListedCalls | undefined;
    mayResume: () => boolean;
  }) {
    this.#session = options.session;
    this.#chatId = options.chatId;
    this.#chat = options.chat;
    this.#calls = options.calls;
    this.#mayResume = options.mayResume;
  }

  /** Starts following. The returned function stops it. */
  start(): () => void {
    const abort = new AbortController();
    this.#abort = abort;
    const { reachability } = this.#session.server;
    const stopEvents = watchEvents(this.#session.server.options, {
      onEvent: (event) => {
        if (this.#concerns(event)) void this.refresh();
      },
    });
    const stopReachability = reachability.subscribe(() => {
      if (reachability.getStatus().state === "connected") void this.refresh();
    });
    this.#session.onOutdated = () => void this.refresh();
    // A resume that finds nothing does not change the status.
    const stopIdle = this.#session.onIdle(() => void this.refresh());
    void this.refresh();
    return () => {
      abort.abort();
      stopEvents();
      stopReachability();
      stopIdle();
      this.#session.onOutdated = undefined;
    };
  }

  /**
   * Reads the record and shows it. Only one read runs at a time; resolves after a read that started no earlier than
   * this call.
   */
  async refresh(): Promise<void> {
    this.#isStale = true;
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  async #readAll(): Promise<void> {
    // After an unmount and remount, continue the read that was aborted.
    const isWanted = () => this.#isStale && this.#session.isStored;
    while (isWanted() && this.#abort !== undefined && !this.#abort.signal.aborted) {
      this.#isStale = false;
      const { signal } = this.#abort;
      try {
        await this.#read(signal);
      } catch (error) {
        // The server refused, or the chat was left. Keep what is shown.
        const { history } = this.#session.getState();
        if (signal.aborted || history.state === "loaded") continue;
        this.#session.setHistory({ state: "failed", error: asHoldpointError(error, "http-error") });
      }
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { server } = this.#session;
    const read = <T>(attempt: (signal: AbortSignal) => Promise<T>) => retryUntilResponse(server, attempt, { signal });
    const { requests } = this.#session;
    const holds = await read((each) => new Holds(server).ofChat(this.#chatId, { calls: this.#calls(), signal: each }));
    if (signal.aborted) return;
    if (JSON.stringify(holds) !== JSON.stringify(this.#session.getState().holds)) this.#session.set({ holds });
    const isOutdated = this.#session.isResuming || hasOutdated(this.#chat.messages, holds);
    const wasIdle = this.#isIdle;
    if (!wasIdle && !isOutdated) return;
    const stored = await read((each) => storedMessages(server, this.#chatId, { signal: each }));
    if (signal.aborted) return;
    // A request sent since then may have made this read obsolete, and so may the end of the response that was open: the
    // message that it wrote would be resumed.
    if ((requests !== this.#session.requests || !wasIdle) && this.#isIdle) this.#isStale = true;
    else if (this.#isIdle) {
      const shown = this.#show({ stored, holds });
      this.#session.setHistory({ state: "loaded" });
      await shown;
    } else {
      this.#set(mergeEarlier(this.#chat.messages, { stored }));
      // A message that is about to be replayed is in the record too, and shown once it arrives.
      if (this.#chat.messages.length > 0) this.#session.setHistory({ state: "loaded" });
    }
  }

  async #show(record: ChatRecord): Promise<void> {
    const session = this.#session;
    session.markStored(new Set(record.stored.map(({ id }) => id)));
    const undecided = this.#undecided(record);
    const unsent = new Set(session.getState().unsent);
    this.#set(mergeRecord(this.#chat.messages, record, { unsent, undecided, followed: session.live?.openMessage }));
    const { status } = this.#chat;
    // An error that the server reported stays until the user acts on it.
    if (status === "error" && !session.lastRequestLost) return;
    const awaitsDecision = record.holds.some(
      ({ kind, state, cut }) => kind === "approval" && state === "waiting" && !cut,
    );
    // While an approval request is open only outcomes are written, and each one is an event. A live connection delivers
    // them itself.
    const isFollowed = session.live !== undefined || awaitsDecision || undecided.size > 0;
    if (isBeingWritten(record) && !isFollowed && unsent.size === 0 && this.#mayResume()) {
      if (session.failures > 0) await this.#afterFailure();
      if (this.#isIdle) void this.#chat.resumeStream();
    } else if (status === "error" && unsent.size === 0) this.#chat.clearError();
  }

  /** Backs off before resuming, for a server that breaks off every response. */
  async #afterFailure(): Promise<void> {
    const backoff = new Backoff(100, 10_000);
    for (let failure = 1; failure < this.#session.failures; failure++) backoff.next();
    if (this.#abort !== undefined) await backoff.pause(this.#abort.signal);
  }

  #set(merged: readonly UI_MESSAGE[]): void {
    this.#session.autoSend?.settled(settledCalls(merged));
    if (merged !== this.#chat.messages) this.#chat.messages = [...merged];
  }

  get #isIdle(): boolean {
    const { status } = this.#chat;
    return !this.#session.isBusy && (status === "ready" || status === "error");
  }

  /** Approval requests of this chat whose decision is being sent. */
  #undecided({ holds }: ChatRecord): ReadonlySet<ApprovalId> {
    const decisions = this.#session.approvals.getDecisions();
    const asked = holds.flatMap(({ approvalId }) => approvalId ?? []);
    return new Set(asked.filter((id) => decisions[id]?.state === "sending" || decisions[id]?.state === "retrying"));
  }

  #concerns(event: ServerEvent): boolean {
    if (event.type === "ready" || event.type === "missed") return true;
    if (event.chatId !== this.#chatId) return false;
    this.#session.isStored = true;
    // An open response already carries what is being written.
    return event.type === "approvals" || this.#isIdle;
  }
}
