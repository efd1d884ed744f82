// @vitest-environment jsdom

import { act, cleanup } from "@testing-library/react";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createHoldpoint, FrontendToolExecutor, type ToolHandlers, type ToolProgress } from "../src/index.js";
import { elsewhere } from "./support/elsewhere.js";
import { modes, newChatId, renderChat } from "./support/hook.js";
import { openLive } from "./support/live.js";
import { startServer, type TestServer } from "./support/server.js";
import { until } from "./support/until.js";

/** A browser gets this long for its result, on the server where calls expire: enough for every handler to begin. */
const DEADLINE_SEC = 6;

let server: TestServer;
let hasty: TestServer;
beforeAll(async () => {
  server = await startServer();
  hasty = await startServer({ env: { HOLDPOINT_TOOLS__GET_LOCATION__TIMEOUT_SEC: String(DEADLINE_SEC) } });
});
afterAll(async () => {
  await server.stop();
  await hasty.stop();
});
afterEach(cleanup);

/** A dialog that nobody answers: it closes when it is told to, and only then. */
function dialog() {
  const opened: { toolCallId: string; signal: AbortSignal }[] = [];
  const isClosed = () => opened.length > 0 && opened.every(({ signal }) => signal.aborted);
  const handlers: ToolHandlers = {
    get_location: (_, { toolCallId, signal }) =>
      new Promise((_resolve, reject) => {
        opened.push({ toolCallId, signal });
        signal.addEventListener("abort", () => reject(signal.reason));
      }),
  };
  return { opened, isClosed, handlers };
}

describe.each(modes)("%s: a handler is told that its call is over", (mode) => {
  /** A chat whose handler is at work. */
  async function working(baseUrl = server.url) {
    const { opened, isClosed, handlers } = dialog();
    const hook = renderChat(mode, { baseUrl, handlers });
    await hook.say("where am I?");
    const id = await hook.approvalRequest();
    await act(async () => void (await hook.chat().approve(id)));
    const { toolCallId, signal } = await until("the dialog", () => opened[0]);
    expect(signal.aborted).toBe(false);
    const closed = async (limitMs?: number) => {
      await until("the dialog's end", isClosed, limitMs);
      expect(opened).toHaveLength(1);
      // What came of the handler is not the call's: it has an outcome already.
      expect(hook.chat().toolErrors).toEqual({});
    };
    return { ...hook, toolCallId, opened, closed, handlers };
  }

  it("by a stop on this page", async () => {
    const { chat, closed } = await working();
    await act(() => chat().stop());
    await closed();
  });

  it("by a stop elsewhere", async () => {
    const { chatId, closed } = await working();
    expect(await elsewhere(server.url).stop(chatId)).toBeLessThan(300);
    await closed();
  });

  it("by a result from another tab", async () => {
    const { toolCallId, settled, closed } = await working();
    expect(await elsewhere(server.url).acknowledge(toolCallId, { latitude: 1, longitude: 2, accuracy: 3 })).toBe(200);
    await closed();
    await settled("output-available");
  });

  it("by a newer message on this page", async () => {
    const { chat, closed } = await working();
    await act(async () => void chat().sendMessage({ text: "hello" }));
    await closed();
  });

  it("by a newer message elsewhere", async () => {
    const { chatId, closed } = await working();
    await elsewhere(server.url).say(chatId, "later", "hello");
    await closed();
  });

  it("by the deletion of the chat", async () => {
    const { chatId, closed } = await working();
    await createHoldpoint({ baseUrl: server.url }).chats.delete(chatId);
    await closed();
  });

  // One mode of each profile: it takes as long as the deadline.
  it.runIf(mode === "live" || mode === "ai-sdk")("by its expiry", async () => {
    const { closed } = await working(hasty.url);
    await closed(DEADLINE_SEC * 1_000 + 20_000);
  });

  it("by leaving the chat, and is called again on return", async () => {
    const { hook, chatId, opened } = await working();
    hook.unmount();
    expect(opened[0]?.signal.aborted).toBe(true);
    const back = dialog();
    renderChat(mode, { baseUrl: server.url, id: chatId, handlers: back.handlers });
    await until("the dialog", () => back.opened[0]);
    expect(opened).toHaveLength(1);
  });
});

describe("without React", () => {
  /** An executor that is told of the messages and of nothing else, as the README has it. */
  async function open(handlers: ToolHandlers, baseUrl = server.url) {
    const chatId = newChatId("plain");
    const reports: ToolProgress[] = [];
    const executor = new FrontendToolExecutor({ baseUrl, chatId, handlers, onProgress: (each) => reports.push(each) });
    executor.setTools(await createHoldpoint({ baseUrl }).tools());
    const live = openLive({ baseUrl, chatId, onMessages: (messages) => executor.observe(messages) });
    const asked = async () => {
      void live.chat.sendMessage({ text: "where am I?" });
      const approvalId = await live.approvalRequest();
      const { toolCallId } = live.chat.calls[0] ?? { toolCallId: "" };
      return { approvalId, call: { toolCallId, toolName: "get_location", input: {} } };
    };
    const close = () => {
      executor.close();
      live.transport.close();
    };
    return { ...live, executor, reports, asked, close };
  }

  it("a call runs once somebody has approved it, although no message changes", async () => {
    const place = { latitude: 35, longitude: 139, accuracy: 5 };
    let runs = 0;
    const handler = () => {
      runs++;
      return place;
    };
    const { asked, end, chat, close } = await open({ get_location: handler });
    const { approvalId } = await asked();
    expect(await elsewhere(server.url).decide(approvalId, true)).toBe(200);
    await until("the run", () => runs);
    await end();
    expect(chat.calls[0]?.output).toEqual(place);
    expect(runs).toBe(1);
    close();
  });

  it.each<[string, (about: { chatId: string; toolCallId: string }) => Promise<unknown>]>([
    ["a stop", ({ chatId }) => elsewhere(server.url).stop(chatId)],
    ["a result from another tab", ({ toolCallId }) => elsewhere(server.url).acknowledge(toolCallId, { latitude: 1 })],
    ["a newer message", ({ chatId }) => elsewhere(server.url).say(chatId, "later", "hello")],
    ["the deletion of the chat", ({ chatId }) => createHoldpoint({ baseUrl: server.url }).chats.delete(chatId)],
  ])("a handler is told of %s", async (_, happen) => {
    const { opened, isClosed, handlers } = dialog();
    const { asked, chatId, reports, close } = await open(handlers);
    const { approvalId } = await asked();
    await elsewhere(server.url).decide(approvalId, true);
    const { toolCallId } = await until("the dialog", () => opened[0]);
    expect(isClosed()).toBe(false);
    await happen({ chatId, toolCallId });
    await until("the dialog's end", isClosed);
    expect(opened).toHaveLength(1);
    expect(reports.map(({ state }) => state)).toEqual(["running", "done"]);
    close();
  });

  it("a handler is told of the expiry", async () => {
    const { opened, isClosed, handlers } = dialog();
    const { asked, close } = await open(handlers, hasty.url);
    const { approvalId } = await asked();
    await elsewhere(hasty.url).decide(approvalId, true);
    await until("the dialog", () => opened[0]);
    await until("the dialog's end", isClosed, DEADLINE_SEC * 1_000 + 20_000);
    close();
  });

  it("a handler that was called before the approval is told of a denial elsewhere", async () => {
    const { opened, isClosed, handlers } = dialog();
    const { asked, executor, close } = await open(handlers);
    const { approvalId, call } = await asked();
    void executor.execute(call);
    await until("the dialog", () => opened[0]);
    expect(await elsewhere(server.url).decide(approvalId, false)).toBe(200);
    await until("the dialog's end", isClosed);
    close();
  });

  it("a handler is told that the executor is closed, and its result is not sent", async () => {
    const { opened, isClosed, handlers } = dialog();
    const { asked, close, chatId } = await open(handlers);
    const { approvalId } = await asked();
    await elsewhere(server.url).decide(approvalId, true);
    await until("the dialog", () => opened[0]);
    close();
    expect(isClosed()).toBe(true);
    const [hold] = await elsewhere(server.url).holds(chatId);
    expect(hold).toMatchObject({ kind: "frontend", state: "waiting" });
  });

  it("a result that is there although its page was left is sent", async () => {
    const finish: ((place: object) => void)[] = [];
    const { asked, executor, end, chat, close } = await open({
      get_location: () => new Promise((resolve) => finish.push(resolve)),
    });
    const { approvalId } = await asked();
    await elsewhere(server.url).decide(approvalId, true);
    await until("the handler", () => finish[0]);
    executor.leave();
    finish[0]?.({ latitude: 1 });
    await end();
    expect(chat.calls[0]?.output).toEqual({ latitude: 1 });
    close();
  });
});
