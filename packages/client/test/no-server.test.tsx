// @vitest-environment jsdom

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { act, cleanup, render, screen } from "@testing-library/react";
import { createElement, type FunctionComponent } from "react";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { HoldpointErrorCode } from "../src/index.js";
import { modes, renderChat } from "./support/hook.js";
import { until } from "./support/until.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  cleanup();
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function listen(server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A development server without a proxy: it answers everything with its page, and no WebSocket. */
const pages = (status: number): Promise<string> =>
  listen(
    createServer((_, response) => {
      response.writeHead(status, { "content-type": "text/html" }).end("<!doctype html><title>App</title>");
    }),
  );
const silent = (): Promise<string> => listen(createServer(() => {}).on("upgrade", () => {}));

describe.each(modes)("%s: when no server answers", (mode) => {
  const servers: [string, () => Promise<string>, HoldpointErrorCode][] = [
    ["nothing listens", () => Promise.resolve("http://127.0.0.1:1"), "unreachable"],
    ["a web page answers", () => pages(200), "not-holdpoint"],
    ["a page that is not found answers", () => pages(404), "not-holdpoint"],
  ];
  it.each(servers)("it is said at once: %s", async (_, start, code) => {
    const { chat } = renderChat(mode, { baseUrl: await start() });
    const status = await until("the report", () => chat().server.state === "unreachable" && chat().server, 3_000);
    expect(status.error).toMatchObject({ name: "HoldpointError", code });
    await act(async () => void chat().sendMessage({ text: "hello" }));
    if (mode === "live") {
      // The request waits, and the first failed attempt is shown meanwhile.
      const error = await until("the failed attempt", () => chat().connection?.error, 3_000);
      expect(error).toMatchObject({ code: "connection-lost" });
      expect(chat().connection?.state).not.toBe("open");
    } else {
      const error = await until("the error", () => chat().error, 3_000);
      expect(error.name).toBe("HoldpointError");
    }
  });
});

it("a server that accepts and says nothing is reported within seconds", async () => {
  const { chat } = renderChat("live", { baseUrl: await silent() });
  const status = await until("the report", () => chat().server.state === "unreachable" && chat().server, 9_000);
  expect(status.error).toMatchObject({ code: "timeout" });
});

it("the README's first example says so to its user", async () => {
  const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
  const [, code = ""] = /```tsx\n(.*?)```/s.exec(readFileSync(here("../README.md"), "utf8")) ?? [];
  const file = here(`./readme-example-${crypto.randomUUID()}.tsx`);
  writeFileSync(
    file,
    code
      .replace('"holdpoint/react"', '"../src/react/index.js"')
      .replace('"holdpoint/demo"', '"../src/demo.js"')
      .replace('"holdpoint"', '"../src/index.js"'),
  );
  cleanups.push(() => rmSync(file, { force: true }));
  const { Chat } = (await import(/* @vite-ignore */ file)) as { Chat: FunctionComponent<{ id: string }> };
  // The page's own origin has no server.
  vi.spyOn(globalThis, "fetch").mockRejectedValue(new TypeError("fetch failed"));
  cleanups.push(() => vi.restoreAllMocks());
  render(createElement(Chat, { id: "readme" }));
  const alert = await until("an alert", () => screen.queryAllByRole("alert")[0], 3_000);
  expect(alert.textContent).toMatch(/does not answer/);
});
