// @vitest-environment jsdom

import { createHash } from "node:crypto";
import { act, cleanup, renderHook } from "@testing-library/react";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { useApprovals, useHoldpoint, type WebSocketTransportClass } from "../src/react/index.js";
import { toolPartsOf } from "../src/tools/tool-part.js";
import { modes, newChatId, webSocketTransport } from "./support/hook.js";
import { startProxy } from "./support/proxy.js";
import { startServer, type TestServer } from "./support/server.js";
import { until } from "./support/until.js";

const keys = ["first-key-of-alice", "second-key-of-alice"] as const;
const other = "the-key-of-bob";
let server: TestServer;
beforeAll(async () => {
  const entry = (key: string, subject: string) =>
    `[[auth.keys]]\nkey_sha256 = "${createHash("sha256").update(key).digest("hex")}"\nsubject = "${subject}"\n`;
  server = await startServer({
    config: [...keys.map((key) => entry(key, "alice")), entry(other, "bob")].join("\n"),
  });
});
afterAll(() => server.stop());
afterEach(cleanup);

describe.each(modes)("%s: another key", (mode) => {
  it("reconnects, and the chat goes on", async () => {
    const proxy = await startProxy(server.url);
    const id = newChatId(`key-${mode}`);
    const { result, rerender, unmount } = renderHook(
      ({ apiKey }: { apiKey: string }) =>
        useHoldpoint({
          mode,
          id,
          apiKey,
          baseUrl: proxy.url,
          webSocket: WebSocket,
          webSocketTransport: webSocketTransport as WebSocketTransportClass,
        }),
      { initialProps: { apiKey: keys[0] as string } },
    );
    await until("the tools", () => result.current.tools);
    await act(async () => void result.current.sendMessage({ text: "send $50 to Hanako" }));
    const approvalId = await until("the request", () => result.current.pendingApprovals[0]?.approvalId);
    await until("the end of the response", () => result.current.status === "ready");
    const before = {
      sockets: proxy.connections(),
      events: proxy.requests.filter((r) => r.endsWith("/api/events")).length,
    };
    rerender({ apiKey: keys[1] });
    await until(
      "new events",
      () => proxy.requests.filter((request) => request.endsWith("/api/events")).length > before.events,
    );
    // The live connection is there although nothing has been sent: the continuation comes over it.
    if (mode === "live") await until("a new socket", () => proxy.connections() > before.sockets);
    await until("the history", () => result.current.messages.length === 2);
    const decided = await fetch(`${server.url}/api/approvals/${approvalId}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${keys[0]}` },
      body: JSON.stringify({ approved: true }),
    });
    expect(decided.status).toBe(200);
    await until("the outcome", () =>
      result.current.messages.flatMap(toolPartsOf).some(({ state }) => state === "output-available"),
    );
    await until("the text", () => result.current.messages.at(-1)?.parts.at(-1)?.type === "text");
    unmount();
    await proxy.stop();
  });
});

it.each(modes)("%s: the key of somebody else shows nothing of the user before", async (mode) => {
  const id = newChatId(`other-${mode}`);
  const { result, rerender, unmount } = renderHook(
    ({ apiKey }: { apiKey: string }) =>
      useHoldpoint({
        mode,
        id,
        apiKey,
        baseUrl: server.url,
        webSocket: WebSocket,
        webSocketTransport: webSocketTransport as WebSocketTransportClass,
      }),
    { initialProps: { apiKey: keys[0] as string } },
  );
  await until("the tools", () => result.current.tools);
  await act(async () => void result.current.sendMessage({ text: "send $50 to Hanako" }));
  await until("the request", () => result.current.pendingApprovals[0]);
  await until("the end of the response", () => result.current.status === "ready");
  rerender({ apiKey: other });
  expect(result.current.messages).toEqual([]);
  expect(result.current.pendingApprovals).toEqual([]);
  await until("the tools again", () => result.current.tools);
  await until("the history", () => result.current.history.state === "loaded");
  expect(result.current.messages).toEqual([]);
  // The user before comes back.
  rerender({ apiKey: keys[0] });
  await until("the history", () => result.current.messages.length === 2);
  await until("the request", () => result.current.pendingApprovals[0]);
  unmount();
});

it("a function is asked for the key of every request", async () => {
  let asked = 0;
  const apiKey = async () => keys[asked++ % 2];
  const { result } = renderHook(() => useApprovals({ baseUrl: server.url, apiKey }));
  await until("the inbox", () => result.current.isConnected && result.current.approvals);
  expect(asked).toBeGreaterThan(1);
  expect(result.current.error).toBeUndefined();
});
