// @vitest-environment jsdom

import { act, cleanup } from "@testing-library/react";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { modes, renderChat } from "./support/hook.js";
import { startProxy } from "./support/proxy.js";
import { startServer, type TestServer } from "./support/server.js";
import { until } from "./support/until.js";

const SLOW = [{ text: ["First, "] }, { waitMs: 60_000 }, { text: ["last."] }];

let server: TestServer;
beforeAll(async () => {
  const turns = [
    { when: "slow", steps: [SLOW] },
    { when: ".*", steps: [[{ text: ["Quick."] }]] },
  ];
  server = await startServer({ script: { turns } });
});
afterAll(() => server.stop());
afterEach(cleanup);

const texts = (chat: ReturnType<typeof renderChat>["chat"]) =>
  chat().messages.map(
    ({ role, parts }) => `${role}: ${parts.map((part) => (part.type === "text" ? part.text : "")).join("")}`,
  );

describe.each(modes)("%s", (mode) => {
  it("a reload in the middle of an answer shows all that came before, without waiting for its end", async () => {
    const before = renderChat(mode, { baseUrl: server.url });
    await before.say("quick");
    await until("the first answer", () => before.chat().status === "ready" && before.chat().messages.length === 2);
    await before.say("slow");
    await until("its beginning", () => texts(before.chat).at(-1) === "assistant: First, ");
    before.hook.unmount();

    const after = renderChat(mode, { baseUrl: server.url, id: before.chatId });
    expect(after.chat().history).toEqual({ state: "loading" });
    await until("the history", () => after.chat().history.state === "loaded");
    await until("everything", () => texts(after.chat).length === 4 && texts(after.chat).at(-1) !== "assistant: ");
    expect(texts(after.chat)).toEqual(["user: quick", "assistant: Quick.", "user: slow", "assistant: First, "]);
    await act(async () => void (await after.chat().stop()));
    await until("the end", () => after.chat().status === "ready");
    expect(texts(after.chat)).toHaveLength(4);
  });
});

it("a new chat has nothing to load", () => {
  const { chat } = renderChat("sse", { baseUrl: server.url, messages: [] });
  expect(chat().history).toEqual({ state: "loaded" });
});

it("a refusal is reported, and retry reads again", async () => {
  const before = renderChat("sse", { baseUrl: server.url });
  await before.say("quick");
  await until("the answer", () => before.chat().status === "ready" && before.chat().messages.length === 2);
  before.hook.unmount();
  const proxy = await startProxy(server.url);
  for (let i = 0; i < 20; i++) proxy.answerNext(/GET .*\/holds/, 403);
  const { chat, hook } = renderChat("sse", { baseUrl: proxy.url, id: before.chatId });
  await until("the refusal", () => chat().history.state === "failed");
  expect(chat().history).toMatchObject({ error: { status: 403 } });
  await until("the messages", async () => {
    await act(async () => void (await chat().retry()));
    return chat().history.state === "loaded" && chat().messages.length === 2;
  });
  hook.unmount();
  await proxy.stop();
});
