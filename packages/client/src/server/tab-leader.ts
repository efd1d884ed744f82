import type { ServerEvent } from "../protocol.js";
import type { Channel, Tabs } from "./tabs.js";

/*
 * Browsers allow at most six HTTP/1.1 connections per origin. One event stream per tab would use them up, and the
 * next request would hang. So one tab, the leader, reads the stream and shares it over a BroadcastChannel. The leader
 * is the tab that holds a Web Lock: when it is closed, the browser gives the lock to the next one.
 */

/** What a tab learns about the stream. */
export type StreamNews = { event: ServerEvent } | { isConnected: boolean };

/** The messages between tabs. `state` answers `asks`; it is `undefined` while the leader connects. */
type TabMessage = StreamNews | { state: boolean | undefined } | { asks: true } | { wakes: true };

/** How often a tab checks that the leader is alive. */
const CHECK_MS = 20_000;
/** How long a leader may take to answer. A frozen one never does. */
const ANSWER_MS = 3_000;

/** How a tab takes part. */
export type TabLeaderOptions = {
  name: string;
  tabs: Tabs;
  /** Reads the stream until the signal aborts, and publishes what it learns. Called while this tab leads. */
  read: (publish: (news: StreamNews) => void, signal: AbortSignal) => Promise<void>;
  /** Called with all news, from this tab or another. */
  onNews: (news: StreamNews, from: "here" | "elsewhere") => void;
  /** This tab may have missed news. */
  onMissed: () => void;
  /** Another tab knows that the server responds: retry now. */
  onWake: () => void;
  checkMs?: number;
  answerMs?: number;
};

/** One tab's part in sharing a stream: it leads, or follows the tab that does. */
export class TabLeader {
  readonly #options: TabLeaderOptions;
  readonly #channel: Channel;
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #stopLifecycle: () => void;
  /** This tab's request for the lock, and what it reads once it has it. */
  #turn: AbortController | undefined;
  #isLeading = false;
  #isConnected: boolean | undefined;
  #answer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: TabLeaderOptions) {
    this.#options = options;
    this.#channel = options.tabs.channel(options.name);
    this.#channel.onmessage = ({ data }) => this.#receive(data as TabMessage);
    this.#timer = setInterval(() => this.#check(), options.checkMs ?? CHECK_MS);
    this.#stopLifecycle = options.tabs.lifecycle({
      onLeave: () => this.#leave(),
      onReturn: () => {
        if (this.#turn === undefined) this.#takePart("wait");
        options.onMissed();
      },
      onVisible: () => this.#check(),
    });
    this.#takePart("wait");
  }

  /** Asks the leader to retry now. */
  wake(): void {
    if (!this.#isLeading) this.#say({ wakes: true });
  }

  close(): void {
    clearInterval(this.#timer);
    this.#stopLifecycle();
    this.#leave();
    this.#channel.close();
  }

  /** Gives the lock back, or stops waiting for it. */
  #leave(): void {
    clearTimeout(this.#answer);
    this.#answer = undefined;
    this.#isLeading = false;
    const turn = this.#turn;
    this.#turn = undefined;
    turn?.abort();
  }

  /** Waits for the lock, or takes it from a leader that does not answer. */
  #takePart(how: "wait" | "steal"): void {
    this.#leave();
    const turn = new AbortController();
    this.#turn = turn;
    const lead = async () => {
      if (turn.signal.aborted) return;
      this.#isLeading = true;
      this.#isConnected = undefined;
      clearTimeout(this.#answer);
      this.#say({ state: undefined });
      await this.#options.read((news) => this.#publish(news, turn.signal), turn.signal);
    };
    const { locks } = this.#options.tabs;
    const held = locks.request(this.#options.name, how === "steal" ? { steal: true } : { signal: turn.signal }, lead);
    void held
      .catch(() => {})
      .then(() => {
        if (this.#turn !== turn) return;
        // Another tab has taken the lock, because this one did not answer: it was frozen.
        this.#takePart("wait");
        this.#options.onMissed();
      });
    if (how === "wait") this.#ask();
  }

  #publish(news: StreamNews, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#isConnected = !("isConnected" in news) || news.isConnected;
    this.#say(news);
    this.#options.onNews(news, "here");
  }

  #receive(message: TabMessage): void {
    if ("asks" in message) {
      if (this.#isLeading) this.#say({ state: this.#isConnected });
    } else if ("wakes" in message) {
      if (this.#isLeading) this.#options.onWake();
    } else if (!this.#isLeading) {
      clearTimeout(this.#answer);
      this.#answer = undefined;
      if (!("state" in message)) this.#options.onNews(message, "elsewhere");
      else if (message.state !== undefined) this.#options.onNews({ isConnected: message.state }, "elsewhere");
    }
  }

  /** A leader that does not answer loses the lock. It may be frozen, or belong to a browser that stopped it. */
  #check(): void {
    if (this.#isLeading || this.#turn === undefined || this.#answer !== undefined) return;
    this.#answer = setTimeout(() => this.#takePart("steal"), this.#options.answerMs ?? ANSWER_MS);
    this.#ask();
  }

  #ask(): void {
    this.#say({ asks: true });
  }

  #say(message: TabMessage): void {
    this.#channel.postMessage(message);
  }
}
