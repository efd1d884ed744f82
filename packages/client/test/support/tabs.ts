import type { Channel, PageListener, Tabs } from "../../src/server/tabs.js";

type Request = { grant: () => Promise<unknown>; lose: (reason: Error) => void };

/** The Web Locks of one browser, as far as they are used: a queue, abort and steal. */
class FakeLocks {
  readonly #held = new Map<string, Request>();
  readonly #queue = new Map<string, Request[]>();
  readonly #starts = new Map<Request, () => void>();

  request = (name: string, options: LockOptions, callback: LockGrantedCallback<unknown>): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const request: Request = { grant: async () => callback({ name, mode: "exclusive" }), lose: reject };
      const start = () => {
        this.#held.set(name, request);
        void request
          .grant()
          .then(resolve, reject)
          .finally(() => this.#release(name, request));
      };
      this.#starts.set(request, start);
      options.signal?.addEventListener("abort", () => {
        const queue = this.#queue.get(name) ?? [];
        if (!queue.includes(request)) return;
        this.#queue.set(
          name,
          queue.filter((each) => each !== request),
        );
        reject(new DOMException("aborted", "AbortError"));
      });
      const holder = this.#held.get(name);
      if (options.steal) holder?.lose(new DOMException("stolen", "AbortError"));
      if (holder === undefined || options.steal) start();
      else this.#queue.set(name, [...(this.#queue.get(name) ?? []), request]);
    });

  #release(name: string, request: Request): void {
    this.#starts.delete(request);
    if (this.#held.get(name) !== request) return;
    this.#held.delete(name);
    const [next, ...rest] = this.#queue.get(name) ?? [];
    this.#queue.set(name, rest);
    if (next !== undefined) this.#starts.get(next)?.();
  }
}

/** One browser with any number of tabs, in one process. */
export function fakeBrowser() {
  const locks = new FakeLocks();
  const channels = new Set<{ name: string; tab: Tab; deliver: (data: unknown) => void }>();
  class Tab {
    isFrozen = false;
    readonly #pages = new Set<PageListener>();
    readonly tabs: Tabs = {
      locks: locks as unknown as Tabs["locks"],
      channel: (name) => {
        const channel: Channel = {
          onmessage: null,
          postMessage: (message) => {
            if (this.isFrozen) return;
            const data = structuredClone(message);
            for (const other of channels) if (other !== entry && other.name === name) other.deliver(data);
          },
          close: () => channels.delete(entry),
        };
        const deliver = (data: unknown) =>
          setTimeout(() => {
            if (!this.isFrozen && channels.has(entry)) channel.onmessage?.({ data } as MessageEvent);
          });
        const entry = { name, tab: this, deliver };
        channels.add(entry);
        return channel;
      },
      lifecycle: (page) => {
        this.#pages.add(page);
        return () => this.#pages.delete(page);
      },
    };
    /** The browser tells the page that it is put aside, and later that it is back. */
    leave = () => {
      for (const { onLeave } of this.#pages) onLeave();
    };
    return = () => {
      for (const { onReturn } of this.#pages) onReturn();
    };
    see = () => {
      for (const { onVisible } of this.#pages) onVisible();
    };
  }
  return { open: () => new Tab() };
}
