// @vitest-environment jsdom

import { cleanup, renderHook } from "@testing-library/react";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { createHoldpoint, earlierAttempts } from "../src/index.js";
import type { ChatHold, ChatSummary } from "../src/protocol.js";
import { useChats, useHolds, useServerStatus, useTools } from "../src/react/index.js";
import { Clock } from "../src/server/clock.js";
import { Server } from "../src/server/server.js";
import { openLive } from "./support/live.js";
import { startProxy } from "./support/proxy.js";
import { startServer, type TestServer } from "./support/server.js";
import { until } from "./support/until.js";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ isDurable: true });
});
afterAll(() => server.stop());
afterEach(async () => {
  cleanup();
  await server.restart();
});

async function ask() {
  const live = openLive({ baseUrl: server.url, webSocket: WebSocket });
  await live.chat.sendMessage({ text: "send $50 to Hanako" });
  return { ...live, id: await live.approvalRequest() };
}

describe("the chats", () => {
  it("are listed and kept current, with one read for any number of components", async () => {
    const proxy = await startProxy(server.url);
    const options = { baseUrl: proxy.url };
    const { result, unmount } = renderHook(() => [useChats(options), useChats({ ...options })] as const);
    expect(result.current[0]).toMatchObject({ chats: undefined, error: undefined });
    await until("the list", () => result.current[0].chats);
    const asked = await ask();
    const isAsked = ({ id, holds }: ChatSummary) => id === asked.chatId && holds === 1;
    const listed = await until("the chat", () => result.current[0].chats?.find(isAsked));
    expect(listed).toMatchObject({ title: "send $50 to Hanako" });
    expect(result.current[1].chats).toBe(result.current[0].chats);
    expect((await createHoldpoint(options).chats.list()).some(isAsked)).toBe(true);

    await createHoldpoint(options).chats.delete(asked.chatId);
    await until("its absence", () => !result.current[0].chats?.some(({ id }) => id === asked.chatId));
    // Deleted already: nothing to complain about.
    await createHoldpoint(options).chats.delete(asked.chatId);
    asked.transport.close();

    const before = proxy.requests.filter((request) => request === "GET /api/chats").length;
    result.current[0].refresh();
    await until("one more read", () => proxy.requests.filter((it) => it === "GET /api/chats").length === before + 1);
    unmount();
    await proxy.stop();
  });

  it("stay, with the error, while the server is away, and come back", async () => {
    const { result } = renderHook(() => ({
      list: useChats({ baseUrl: server.url }),
      status: useServerStatus({ baseUrl: server.url }),
    }));
    await until("the list", () => result.current.list.chats && result.current.status.state === "connected");
    await server.kill();
    await until("the outage", () => result.current.status.state === "unreachable");
    result.current.list.refresh();
    await until("the error", () => result.current.list.error?.code === "unreachable");
    expect(result.current.list.chats).toBeDefined();
    await server.restart();
    await until("the list again", () => result.current.list.error === undefined);
    expect(result.current.status.state).toBe("connected");
  });
});

it("useTools: the tools, without a chat", async () => {
  const { result } = renderHook(() => useTools({ baseUrl: server.url }));
  const tools = await until("the tools", () => result.current.tools);
  expect(tools.map(({ name }) => name)).toContain("process_payment");
});

it("useHolds: what became of a request, and nothing for no chat", async () => {
  const asked = await ask();
  const { result, rerender } = renderHook(({ chatId }) => useHolds(chatId, { baseUrl: server.url }), {
    initialProps: { chatId: undefined as string | undefined },
  });
  expect(result.current).toBeUndefined();
  rerender({ chatId: asked.chatId });
  await until("the request", () => result.current?.[0]?.state === "waiting");
  await createHoldpoint({ baseUrl: server.url }).approvals.decide(asked.id, { approved: false, reason: "no" });
  const hold = await until("the outcome", () => result.current?.find(({ state }) => state === "settled"));
  expect(hold).toMatchObject({ approvalId: asked.id, decision: { kind: "deny", reason: "no" } });
  rerender({ chatId: "another" });
  expect(result.current).toBeUndefined();
  asked.transport.close();
});

it("earlierAttempts: they belong to the message that took their place, and are shown without it too", () => {
  const hold = (toolCallId: string, messageId: string, cut: boolean) => ({ toolCallId, messageId, cut }) as ChatHold;
  const holds = [hold("1", "m", true), hold("2", "m", false), hold("3", "gone", true)];
  const { byMessage, others } = earlierAttempts(holds, [{ id: "m" }]);
  expect(byMessage.get("m")?.map(({ toolCallId }) => toolCallId)).toEqual(["1"]);
  expect(others.map(({ toolCallId }) => toolCallId)).toEqual(["3"]);
  expect(earlierAttempts(undefined, []).others).toEqual([]);
});

it("check: the server's rule checker", async () => {
  const options = { baseUrl: server.url, profile: "adk-sse" } as const;
  const good = 'data: {"type":"start","messageId":"m"}\n\ndata: {"type":"finish"}\n\ndata: [DONE]\n\n';
  expect(await createHoldpoint(options).check(good)).toEqual([]);
  expect((await createHoldpoint(options).check('data: {"type":"start"\n\n')).map(({ rule }) => rule)).toContain("F3");
});

describe("the time by the server's clock", () => {
  const dated = (date: string) => new Response("", { headers: { date } });
  const now = Date.parse("2026-11-16T08:00:00Z");

  it("is the server's time, as its responses tell it", async () => {
    const baseUrl = "http://clock.example";
    const ahead = new Date(Date.now() + 3_600_000).toUTCString();
    await new Server({ baseUrl, fetch: async () => dated(ahead) }).request("/x");
    expect(createHoldpoint({ baseUrl }).now() - Date.now()).toBeGreaterThan(3_590_000);
    expect(Math.abs(createHoldpoint({ baseUrl: "http://other.example" }).now() - Date.now())).toBeLessThan(100);
  });

  it("ignores what the header can't tell, and headers that are none", () => {
    const clock = new Clock();
    clock.learn(dated(new Date(now + 1_000).toUTCString()), now);
    expect(clock.now()).toBeLessThanOrEqual(Date.now());
    clock.learn(dated("soon"), now);
    expect(clock.now()).toBeLessThanOrEqual(Date.now());
  });
});
