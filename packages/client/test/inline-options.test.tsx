// @vitest-environment jsdom

import { cleanup, renderHook } from "@testing-library/react";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { useApprovals, useHoldpoint, type WebSocketTransportClass } from "../src/react/index.js";
import { modes, newChatId, webSocketTransport } from "./support/hook.js";
import { startProxy } from "./support/proxy.js";
import { startServer, type TestServer } from "./support/server.js";
import { nothingFor, until } from "./support/until.js";

const RENDERS = 50;

let server: TestServer;
let proxy: Awaited<ReturnType<typeof startProxy>>;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());
afterEach(async () => {
  cleanup();
  await proxy.stop();
});

/** Renders again and again, with a moment in between for what a render starts. */
async function renderOften(rerender: () => void) {
  for (let i = 0; i < RENDERS; i++) {
    rerender();
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await nothingFor(100);
}

const count = (path: string) => proxy.requests.filter((request) => request === `GET ${path}`).length;

describe.each(modes)("%s", (mode) => {
  it("inline options start no new session and repeat no request", async () => {
    proxy = await startProxy(server.url);
    const id = newChatId(`inline-${mode}`);
    const used = { fetch: 0, ticket: 0 };
    const { result, rerender } = renderHook(() => {
      return useHoldpoint({
        mode,
        id,
        baseUrl: proxy.url,
        headers: { "x-app": "inline" },
        apiKey: async () => undefined,
        live: { pingIntervalMs: 0 },
        webSocket: class extends WebSocket {},
        webSocketTransport: webSocketTransport as WebSocketTransportClass,
        handlers: {},
        fetch: (input, init) => {
          used.fetch++;
          return fetch(input, init);
        },
        ticket: async () => {
          used.ticket++;
          return undefined;
        },
        onChunk: () => {},
      });
    });
    await until("the tools", () => result.current.tools);
    await until("the connection", () => result.current.server.state === "connected");
    await renderOften(rerender);
    expect(count(`/api/tools?chatId=${encodeURIComponent(id)}`)).toBe(1);
    expect(count("/api/events")).toBe(1);
    expect(proxy.connections()).toBeLessThanOrEqual(1);
    expect(used.ticket).toBeLessThanOrEqual(1);
    expect(used.fetch).toBeGreaterThan(0);
  });
});

it("inline options of the inbox repeat no request", async () => {
  proxy = await startProxy(server.url);
  const { result, rerender } = renderHook(() =>
    useApprovals({
      baseUrl: proxy.url,
      headers: { "x-app": "inline" },
      fetch: (input, init) => fetch(input, init),
      ticket: async () => undefined,
    }),
  );
  await until("the list", () => result.current.approvals);
  const lists = count("/api/approvals");
  await renderOften(rerender);
  expect(count("/api/events")).toBe(1);
  expect(count("/api/approvals")).toBe(lists);
});
