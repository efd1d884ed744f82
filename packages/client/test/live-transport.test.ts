import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import WebSocket from "ws";
import {
  ApprovalsClient,
  LiveChatTransport,
  type LiveChatTransportOptions,
  sendAutomaticallyWhen,
} from "../src/index.js";
import { PlainChat, shown } from "./support/chat.js";
import { startProxy } from "./support/proxy.js";
import { startServer, type TestServer } from "./support/server.js";
import { until } from "./support/until.js";

let server: TestServer;
const cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});

let chats = 0;

function open(options: Partial<LiveChatTransportOptions> = {}) {
  const chatId = options.chatId ?? `live-${chats++}-${Date.now()}`;
  const autoSend = sendAutomaticallyWhen({ frontendTools: ["get_location", "open-url"] });
  const transport = new LiveChatTransport({
    baseUrl: server.url,
    webSocket: WebSocket,
    onUnread: () => {
      if (chat.status === "ready") void chat.resumeStream();
    },
    ...options,
    chatId,
  });
  const requests: string[] = [];
  const chat = new PlainChat({
    id: chatId,
    transport: autoSend.watch(transport),
    sendAutomaticallyWhen: autoSend,
    onFinish: () => requests.push("finish"),
  });
  cleanups.push(() => transport.close());
  return { chat, transport, chatId, requests };
}

describe("a payment", () => {
  it("is ready at the question, and goes on with the answer in the same message", async () => {
    const { chat } = open();
    await chat.sendMessage({ text: "send $50 to Hanako" });
    expect(chat.status).toBe("ready");
    const question = await until("a question", () => chat.question);
    await chat.addToolApprovalResponse({ id: question, approved: true });
    await until("the end", () => chat.calls[0]?.state === "output-available" && chat.status === "ready");
    expect(chat.messages.map((message) => message.role)).toEqual(["user", "assistant"]);
    expect(shown(chat.lastMessage)).toMatchInlineSnapshot(`
      [
        "reasoning: I am asked to send 50 USD to Hanako.",
        "process_payment: output-available",
        "text: I sent 50 USD to Hanako (transaction TXN). Your wallet now holds 950 USD.",
      ]
    `);
  });

  it("is shown when somebody else decides while nobody reads", async () => {
    const { chat, chatId } = open();
    await chat.sendMessage({ text: "send $50 to Hanako" });
    const inbox = new ApprovalsClient({ baseUrl: server.url });
    const mine = (await inbox.list()).find((approval) => approval.chatId === chatId);
    await inbox.decide(mine?.approvalId ?? "", { approved: false, reason: "too much" });
    await until(
      "the end",
      () => chat.calls[0]?.state === "output-error" && chat.status === "ready" && shown(chat.lastMessage).length > 2,
    );
    expect(shown(chat.lastMessage)).toMatchInlineSnapshot(`
      [
        "reasoning: I am asked to send 50 USD to Hanako.",
        "process_payment: output-error",
        "text: You declined (your reason: too much), so I did not send 50 USD to Hanako.",
      ]
    `);
  });
});

describe("a lost connection", () => {
  it.each(["server", "client"] as const)("at every frame from the %s", async (from) => {
    let whole: string[] | undefined;
    for (let after = 0; ; after++) {
      const proxy = await startProxy(server.url, after === 0 ? undefined : { after, from });
      const { chat, transport } = open({ baseUrl: proxy.url });
      await chat.sendMessage({ text: "send $50 to Hanako" });
      const question = await until(`a question (cut ${after})`, () => chat.question);
      await chat.addToolApprovalResponse({ id: question, approved: true });
      await until(
        `the end (cut ${after})`,
        () =>
          chat.calls[0]?.state === "output-available" &&
          chat.status === "ready" &&
          shown(chat.lastMessage).at(-1)?.startsWith("text"),
      );
      whole ??= shown(chat.lastMessage);
      expect(shown(chat.lastMessage), `cut at frame ${after}`).toEqual(whole);
      expect(chat.messages, `cut at frame ${after}`).toHaveLength(2);
      const connections = proxy.connections();
      transport.close();
      await proxy.stop();
      if (after > 0 && connections === 1) {
        expect(after).toBeGreaterThan(from === "server" ? 30 : 2);
        break;
      }
    }
  }, 120_000);
});
