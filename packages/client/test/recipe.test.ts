import { readFileSync } from "node:fs";
import ts from "typescript";
import { afterEach, expect, it, vi } from "vitest";
import WebSocket from "ws";
import * as demo from "../src/demo.js";
import * as holdpoint from "../src/index.js";
import { PlainChat } from "./support/chat.js";
import { newChatId } from "./support/hook.js";
import { startServer } from "./support/server.js";
import { until } from "./support/until.js";

afterEach(() => vi.unstubAllGlobals());

type Recipe = {
  client: holdpoint.Holdpoint;
  autoSend: holdpoint.AutoSend;
  transport: holdpoint.LiveChatTransport;
  live: holdpoint.LiveChatTransport;
  executor: holdpoint.FrontendToolExecutor;
};

/** The code block of "Without React" in the README, as it is written there, for this server and this chat. */
async function recipe(baseUrl: string, chatId: string): Promise<Recipe> {
  const page = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const [, block = ""] = /## Without React\n\n```ts\n(.*?)```/s.exec(page) ?? [];
  const set = (name: string, value: string, code: string) => {
    const pattern = new RegExp(`const ${name} = ".*?";`);
    expect(code).toMatch(pattern);
    return code.replace(pattern, `const ${name} = "${value}";`);
  };
  const code = ts.transpile(set("baseUrl", baseUrl, set("chatId", chatId, block)), { target: ts.ScriptTarget.ES2022 });
  const body = code
    .replace(/import (.*?) from "holdpoint";/, "const $1 = holdpoint;")
    .replace(/import (.*?) from "holdpoint\/demo";/, "const $1 = demo;")
    .replaceAll("export const", "const");
  const AsyncFunction = (async () => {}).constructor as new (
    ...args: string[]
  ) => (...modules: unknown[]) => Promise<Recipe>;
  const run = new AsyncFunction(
    "holdpoint",
    "demo",
    `${body}\nreturn { client, autoSend, transport, live, executor };`,
  );
  return run(holdpoint, demo);
}

it("the recipe without React runs a browser tool that needs approval", async () => {
  const server = await startServer();
  const position = { coords: { latitude: 35, longitude: 139, accuracy: 5 }, timestamp: 0 };
  const getCurrentPosition = vi.fn((found: (position: unknown) => void) => found(position));
  vi.stubGlobal("navigator", { geolocation: { getCurrentPosition } });
  vi.stubGlobal("WebSocket", WebSocket);
  // What the recipe prints.
  vi.stubGlobal("console", { ...console, log: () => {} });
  const id = newChatId("recipe");
  const { client, autoSend, transport, live, executor } = await recipe(server.url, id);
  const chat = new PlainChat({
    id,
    transport,
    sendAutomaticallyWhen: autoSend,
    onMessages: (messages) => executor.observe(messages),
  });
  void chat.sendMessage({ text: "where am I?" });
  const approvalId = await until("the approval request", () => chat.approvalRequest);
  expect((await client.approvals.decide(approvalId, { approved: true })).state).toBe("in-force");
  await until("the location", () => getCurrentPosition.mock.calls.length);
  await until("the outcome", async () => {
    const [hold] = await client.holds.ofChat(id);
    return hold?.outcome?.cause === "result";
  });
  expect(getCurrentPosition).toHaveBeenCalledTimes(1);
  executor.close();
  live.close();
  await server.stop();
});
