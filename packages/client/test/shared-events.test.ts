import { afterEach, describe, expect, it, vi } from "vitest";
import type { ServerEvent } from "../src/protocol.js";
import { EventStream } from "../src/server/event-stream.js";
import { sharedName } from "../src/server/tabs.js";
import { fakeBrowser } from "./support/tabs.js";
import { until } from "./support/until.js";

let servers = 0;
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const clean of cleanups.splice(0)) clean();
});

/** A server whose event streams can be counted, fed and cut. */
function fakeServer() {
  const open = new Map<ReadableStreamDefaultController<Uint8Array>, number>();
  const is = { up: true, attempts: 0 };
  const encode = (event: object) => new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`);
  const respondTo =
    (tab: number): typeof fetch =>
    async (input, init) => {
      const isStream = String(input).endsWith("/api/events");
      if (isStream) is.attempts++;
      if (!is.up) throw new TypeError("fetch failed");
      if (!isStream) return Response.json([]);
      let own: ReadableStreamDefaultController<Uint8Array>;
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          own = controller;
          open.set(controller, tab);
          controller.enqueue(encode({ type: "ready" }));
        },
        cancel: () => void open.delete(own),
      });
      init?.signal?.addEventListener("abort", () => {
        if (!open.delete(own)) return;
        own.error(init.signal?.reason);
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    };
  return {
    is,
    baseUrl: `http://shared-${servers++}.example`,
    respondTo,
    readers: () => [...open.values()],
    send: (event: ServerEvent) => {
      for (const controller of open.keys()) controller.enqueue(encode(event));
    },
    cut: () => {
      for (const controller of open.keys()) controller.close();
      open.clear();
    },
  };
}

/** A living leader that answers late, as on a busy machine, keeps its place. */
const NEVER_MS = 600_000;

/** Tabs of one browser that follow one server. */
function openTabs(count: number, { apiKey = () => "key" as string | undefined, answerMs = NEVER_MS } = {}) {
  const server = fakeServer();
  const browser = fakeBrowser();
  const all = Array.from({ length: count }, (_, i) => {
    const tab = browser.open();
    const seen: string[] = [];
    const connections: boolean[] = [];
    const options = { baseUrl: server.baseUrl, apiKey: apiKey(), fetch: server.respondTo(i) };
    const stream = new EventStream(
      () => options,
      () => tab.tabs,
      { checkMs: 50, answerMs },
    );
    const close = stream.subscribe({
      onEvent: (event) => seen.push("chatId" in event ? event.chatId : event.type),
      onConnection: (isConnected) => connections.push(isConnected),
    });
    cleanups.push(close);
    return { tab, seen, connections, close };
  });
  const everyone = (what: string, look: (one: (typeof all)[number]) => boolean | undefined) =>
    until(what, () => all.every(look));
  return { server, tabs: all, everyone };
}

describe("the tabs of a browser", () => {
  it("have one connection, and all get every event once", async () => {
    const { server, tabs, everyone } = openTabs(8);
    await everyone("the connection", ({ connections }) => connections.at(-1));
    expect(server.readers()).toHaveLength(1);
    server.send({ type: "chat", chatId: "c1" });
    await everyone("the event", ({ seen }) => seen.includes("c1"));
    for (const { seen } of tabs) expect(seen).toEqual(["ready", "c1"]);
    expect(server.is.attempts).toBe(1);
  });

  it("go on when the tab with the connection is closed", async () => {
    const { server, tabs, everyone } = openTabs(3);
    await everyone("the connection", ({ connections }) => connections.at(-1));
    tabs[0]?.tab.leave();
    tabs[0]?.close();
    await until("the next reader", () => server.readers()[0] === 1);
    // Something may have happened in between: everyone is told to read again.
    await until("the news", () =>
      tabs.slice(1).every(({ seen }) => seen.filter((type) => type === "ready").length === 2),
    );
    server.send({ type: "chat", chatId: "c2" });
    await until("the event", () => tabs.slice(1).every(({ seen }) => seen.at(-1) === "c2"));
    for (const { connections } of tabs.slice(1)) expect(connections).not.toContain(false);
  });

  it("take over from a tab that says that it is being frozen, which catches up when it is back", async () => {
    const { server, tabs, everyone } = openTabs(2);
    await everyone("the connection", ({ connections }) => connections.at(-1));
    tabs[0]?.tab.leave();
    await until("the next reader", () => server.readers().join() === "1");
    tabs[0]?.tab.return();
    await until("the word that events were missed", () => tabs[0]?.seen.includes("missed"));
    server.send({ type: "chat", chatId: "c3" });
    await everyone("the event", ({ seen }) => seen.at(-1) === "c3");
    expect(server.readers()).toEqual([1]);
  });

  it("take over from a tab that is frozen without a word, which follows when it is back", async () => {
    const { server, tabs, everyone } = openTabs(3, { answerMs: 250 });
    await everyone("the connection", ({ connections }) => connections.at(-1));
    const [frozen, ...others] = tabs;
    if (frozen === undefined) throw new Error("the tab is missing");
    frozen.tab.isFrozen = true;
    await until("another reader", () => server.readers().some((tab) => tab !== 0));
    await until("one reader", () => server.readers().length === 1);
    // On a slow machine a living reader may answer late, and lose its place to another one: what is sent in that moment is
    // lost (they are told to read again), so it is sent until it arrives.
    await until("the event", () => {
      server.send({ type: "chat", chatId: "c4" });
      return others.every(({ seen }) => seen.includes("c4"));
    });
    frozen.tab.isFrozen = false;
    expect(frozen.seen).toContain("missed");
    await until("the event", () => {
      server.send({ type: "chat", chatId: "c5" });
      return tabs.every(({ seen }) => seen.includes("c5"));
    });
    await until("one reader", () => server.readers().length === 1);
  });

  it("ask at once when the user looks at one, and leave a leader alone that answers", async () => {
    const { server, tabs, everyone } = openTabs(3);
    await everyone("the connection", ({ connections }) => connections.at(-1));
    vi.useFakeTimers();
    cleanups.push(() => vi.useRealTimers());
    for (let i = 0; i < 5; i++) {
      for (const { tab } of tabs) tab.see();
      await vi.advanceTimersByTimeAsync(2 * NEVER_MS);
    }
    expect(server.readers()).toEqual([0]);
    expect(server.is.attempts).toBe(1);
  });

  it("all know when the connection is lost, and when it is back", async () => {
    const { server, everyone } = openTabs(3);
    await everyone("the connection", ({ connections }) => connections.at(-1));
    server.is.up = false;
    server.cut();
    await everyone("the loss", ({ connections }) => connections.at(-1) === false);
    server.is.up = true;
    await everyone("the return", ({ connections, seen }) => connections.at(-1) === true && seen.at(-1) === "ready");
    expect(server.readers()).toHaveLength(1);
  });

  it("of different users share nothing", async () => {
    let keys = 0;
    const { server, everyone } = openTabs(3, { apiKey: () => `key-${keys++}` });
    await everyone("the connection", ({ connections }) => connections.at(-1));
    expect(server.readers().sort()).toEqual([0, 1, 2]);
  });

  it("with a fetch of their own and no key share nothing: who the user is can't be compared", async () => {
    const { server, everyone } = openTabs(2, { apiKey: () => undefined });
    await everyone("the connection", ({ connections }) => connections.at(-1));
    expect(server.readers()).toHaveLength(2);
  });
});

it("a page that says so shares, or does not", async () => {
  const options = { baseUrl: "https://a.example", fetch };
  expect(await sharedName(options)).toBeUndefined();
  expect(await sharedName({ ...options, events: "browser" })).toBeDefined();
  expect(await sharedName({ baseUrl: "https://a.example", events: "page" })).toBeUndefined();
});

it("the name depends on server, key and headers, and shows no key", async () => {
  const baseUrl = "https://a.example";
  const names = await Promise.all([
    sharedName({ baseUrl }),
    sharedName({ baseUrl: "https://b.example" }),
    sharedName({ baseUrl, apiKey: "secret" }),
    sharedName({ baseUrl, apiKey: "secret2" }),
    sharedName({ baseUrl, headers: { "x-tenant": "1" } }),
  ]);
  expect(new Set(names).size).toBe(names.length);
  expect(names.join()).not.toContain("secret");
  expect(await sharedName({ baseUrl: `${baseUrl}/`, apiKey: async () => "secret" })).toBe(names[2]);
});
