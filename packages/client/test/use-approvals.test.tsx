// @vitest-environment jsdom

import { act, cleanup, renderHook } from "@testing-library/react";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import WebSocket from "ws";
import { createHoldpoint, type EventsSource } from "../src/index.js";
import type { ServerEvent } from "../src/protocol.js";
import { useApprovals } from "../src/react/index.js";
import { elsewhere } from "./support/elsewhere.js";
import { openLive } from "./support/live.js";
import { startProxy } from "./support/proxy.js";
import { startServer, type TestServer } from "./support/server.js";
import { nothingFor, until } from "./support/until.js";

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

it("follows the inbox: what comes, what is decided here, what is decided elsewhere", async () => {
  const { result } = renderHook(useApprovals, { initialProps: { baseUrl: server.url } });
  expect(result.current).toMatchObject({ approvals: undefined, isConnected: false });
  await until("the connection", () => result.current.isConnected && result.current.approvals?.length === 0);

  const first = await ask();
  const second = await ask();
  const listed = await until("both", () => result.current.approvals?.length === 2 && result.current.approvals);
  expect(listed.map(({ approvalId }) => approvalId)).toEqual([first.id, second.id]);
  expect(listed[0]).toMatchObject({ chatId: first.chatId, toolName: "process_payment", input: { amount: 50 } });

  await act(async () => {
    expect(await result.current.decide(first.id, { approved: true })).toMatchObject({ state: "in-force" });
  });
  expect(result.current.approvals?.map(({ approvalId }) => approvalId)).toEqual([second.id]);
  expect(await elsewhere(server.url).decide(second.id, false)).toBe(200);
  await until("the decision elsewhere", () => result.current.approvals?.length === 0);

  for (const [id, status] of [
    [second.id, 409],
    ["no-such-approval", 404],
  ] as const) {
    await act(async () => {
      const report = await result.current.decide(id, { approved: true });
      expect(report).toMatchObject({ state: "refused", error: { status } });
    });
    expect(result.current.decisions[id]).toMatchObject({ state: "refused", error: { status } });
  }
  for (const { transport } of [first, second]) transport.close();
});

it("filters the inbox, and reads one request until it has ended", async () => {
  const asked = [await ask(), await ask()] as const;
  const filter = { chat: asked[1].chatId, tool: "process_payment", q: "hanaKO" };
  const initialProps = { baseUrl: server.url, filter, pageSize: 1 };
  const { result, rerender } = renderHook(useApprovals, { initialProps });
  await until("the one", () => result.current.approvals?.length === 1);
  expect(result.current.approvals?.[0]).toMatchObject({ approvalId: asked[1].id, title: "Send a payment" });
  rerender({ ...initialProps, filter: { ...filter, q: "nobody" } });
  await until("none", () => result.current.approvals?.length === 0);

  const one = { baseUrl: server.url };
  expect(await createHoldpoint(one).approvals.get(asked[0].id)).toMatchObject({
    chatId: asked[0].chatId,
    allowed: expect.anything(),
  });
  for (const { id } of asked) expect(await elsewhere(server.url).decide(id, false)).toBe(200);
  await expect(createHoldpoint(one).approvals.get(asked[0].id)).rejects.toMatchObject({
    status: 410,
    code: "too-late",
  });
  await expect(createHoldpoint(one).approvals.get("approval_none")).rejects.toMatchObject({ status: 404 });
  const me = await createHoldpoint(one).me();
  const lines = await createHoldpoint(one).audit.list({ subject: me.subject, step: "decided" });
  expect(lines.filter(({ approvalId }) => asked.some(({ id }) => id === approvalId))).toHaveLength(2);
  for (const { transport } of asked) transport.close();
});

it("replaces a stream that a proxy leaves open although the server is gone", async () => {
  const proxy = await startProxy(server.url);
  const { result, unmount } = renderHook(useApprovals, { initialProps: { baseUrl: proxy.url } });
  await until("the connection", () => result.current.isConnected);
  await server.kill();
  const decided = result.current.decide("no-such-approval", { approved: true });
  await until("the loss", () => !result.current.isConnected);
  await server.restart();
  await act(async () => void (await decided));
  const asked = await ask();
  await until("the list", () => result.current.approvals?.some(({ approvalId }) => approvalId === asked.id));
  unmount();
  asked.transport.close();
  await proxy.stop();
});

it("comes back after a lost connection, and says so", async () => {
  const proxy = await startProxy(server.url);
  const { result, unmount } = renderHook(useApprovals, { initialProps: { baseUrl: proxy.url } });
  await until("the connection", () => result.current.isConnected);
  proxy.cutHttp();
  await until("the loss", () => !result.current.isConnected);
  const asked = await ask();
  await until(
    "the list",
    () => result.current.isConnected && result.current.approvals?.some(({ approvalId }) => approvalId === asked.id),
  );
  expect(result.current.error).toBeUndefined();
  unmount();
  asked.transport.close();
  await proxy.stop();
});

it("takes its events from elsewhere, if it is told to", async () => {
  const listeners = new Set<(event: ServerEvent) => void>();
  const events: EventsSource = {
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const asked = await ask();
  const paths: string[] = [];
  const spy: typeof fetch = async (input, init) => {
    paths.push(new URL(String(input)).pathname);
    return fetch(input, init);
  };
  const { result, unmount } = renderHook(useApprovals, { initialProps: { baseUrl: server.url, events, fetch: spy } });
  await until("the list", () => result.current.approvals?.some(({ approvalId }) => approvalId === asked.id));
  expect(await elsewhere(server.url).decide(asked.id, false)).toBe(200);
  for (const listener of listeners) listener({ type: "approvals", chatId: asked.chatId });
  await until("the change", () => result.current.approvals?.every(({ approvalId }) => approvalId !== asked.id));
  expect(new Set(paths)).toEqual(new Set(["/api/approvals"]));
  unmount();
  expect(listeners.size).toBe(0);
  asked.transport.close();
});

it("says since when its list is out of date, and is current again by itself", async () => {
  const asked = await ask();
  const { result } = renderHook(useApprovals, { initialProps: { baseUrl: server.url } });
  await until("the list", () => result.current.approvals?.some(({ approvalId }) => approvalId === asked.id));
  expect(result.current).toMatchObject({ isConnected: true, staleSince: undefined });
  const before = Date.now();
  await server.kill();
  await until("the loss", () => !result.current.isConnected);
  expect(result.current.staleSince?.getTime()).toBeGreaterThanOrEqual(before);
  expect(result.current.approvals?.some(({ approvalId }) => approvalId === asked.id)).toBe(true);
  const since = result.current.staleSince;
  await act(() => nothingFor(500));
  expect(result.current.staleSince).toBe(since);
  await server.restart();
  await until("the return", () => result.current.isConnected && result.current.staleSince === undefined);
  expect(result.current.error).toBeUndefined();
  asked.transport.close();
});

it("says that the server is away when it was never there", async () => {
  const { result } = renderHook(useApprovals, { initialProps: { baseUrl: "http://127.0.0.1:1" } });
  await until("the error", () => result.current.error);
  expect(result.current).toMatchObject({ approvals: undefined, isConnected: false });
});

it("a decision outlives the server and the page's part that made it, and every hook sees it", async () => {
  const asked = await ask();
  const inbox = renderHook(useApprovals, { initialProps: { baseUrl: server.url } });
  const other = renderHook(useApprovals, { initialProps: { baseUrl: `${server.url}/` } });
  await until("the list", () => inbox.result.current.approvals?.some(({ approvalId }) => approvalId === asked.id));
  await server.kill();
  let settled: Promise<unknown> = Promise.resolve();
  await act(async () => {
    settled = inbox.result.current.decide(asked.id, { approved: true });
  });
  await until("the retry", () => other.result.current.decisions[asked.id]?.state === "retrying");
  inbox.unmount();
  await server.restart();
  await act(async () => {
    expect(await settled).toMatchObject({ state: "in-force", approved: true });
  });
  expect(other.result.current.decisions[asked.id]).toMatchObject({ state: "in-force" });
  const [hold] = await elsewhere(server.url).holds(asked.chatId);
  expect(hold?.decision?.kind).toBe("approve");
  asked.transport.close();
});
