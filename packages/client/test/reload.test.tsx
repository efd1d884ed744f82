// @vitest-environment jsdom

import { useChat } from "@ai-sdk/react";
import { act, cleanup, renderHook } from "@testing-library/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from "ai";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createHoldpoint } from "../src/index.js";
import { toolPartsOf } from "../src/tools/tool-part.js";
import { shown } from "./support/chat.js";
import { modes, renderChat } from "./support/hook.js";
import { startProxy } from "./support/proxy.js";
import { startServer, type TestServer } from "./support/server.js";
import { until } from "./support/until.js";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());
afterEach(cleanup);

describe.each(modes)("%s: a reload", (mode) => {
  const asked = async () => {
    const before = renderChat(mode, { baseUrl: server.url });
    await before.say("send $50 to Hanako");
    const approvalId = await before.approvalRequest();
    const { messages } = before.chat();
    before.hook.unmount();
    return { id: before.chatId, approvalId, messages };
  };

  it("in the middle of an approval request shows it again, without any messages given", async () => {
    const { id, approvalId } = await asked();
    const after = renderChat(mode, { baseUrl: server.url, id });
    expect(await after.approvalRequest()).toBe(approvalId);
    await until("the message that was answered", () => after.chat().messages[0]?.role === "user");
    await until("the request", () => after.chat().pendingApprovals[0]?.approvalId === approvalId);
    await act(async () => void (await after.chat().approve(approvalId)));
    await after.settled("output-available");
    expect(after.chat().messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    await until("no request", () => after.chat().pendingApprovals.length === 0);
  });

  it("never shows less than it began with", async () => {
    const { id, approvalId } = await asked();
    const messages = await createHoldpoint({ baseUrl: server.url }).chats.messages(id);
    expect(messages).toHaveLength(2);
    const after = renderChat(mode, { baseUrl: server.url, id, messages });
    const lengths: number[] = [];
    const watched = until("the tools and the holds", () => {
      lengths.push(after.chat().messages.length);
      return after.chat().tools && after.chat().holds;
    });
    expect(after.chat().messages).toHaveLength(2);
    await watched;
    await act(async () => void (await after.chat().approve(approvalId)));
    await after.settled("output-available");
    expect(Math.min(...lengths)).toBe(2);
    expect(after.chat().messages).toHaveLength(2);
  });

  it("reads nothing with history: false, until something is sent", async () => {
    const { id } = await asked();
    const proxy = await startProxy(server.url);
    const after = renderChat(mode, { baseUrl: proxy.url, id, history: false, resume: false });
    // What is read of a chat is asked for together with its tools.
    await until("the connection", () => after.chat().tools && after.chat().server.state === "connected");
    // A chat may have tools of its own. Nothing else of it is read.
    const read = proxy.requests.filter((request) => request.includes(id) && !request.startsWith("GET /api/tools?"));
    expect(read).toEqual([]);
    expect(after.chat().messages).toEqual([]);
    await after.say("what is the weather in Tokyo?");
    await after.settled("output-available");
    after.hook.unmount();
    await proxy.stop();
  });

  // The response to a message that is sent at once would be read twice.
  it.each([{ history: false }, { messages: [] }])("does not resume a chat that is new: %j", async (isNew) => {
    const proxy = await startProxy(server.url);
    const { chat, chatId, say, settled, hook } = renderChat(mode, { baseUrl: proxy.url, ...isNew });
    await say("what is the weather in Tokyo?");
    await settled("output-available");
    expect(proxy.requests.filter((request) => request.startsWith(`GET /api/chat/${chatId}/stream`))).toEqual([]);
    expect(chat().messages).toHaveLength(2);
    hook.unmount();
    await proxy.stop();
  });
});

describe("a stock useChat", () => {
  const open = (id: string, messages: UIMessage[]) =>
    renderHook(() =>
      useChat({
        id,
        messages,
        resume: true,
        transport: new DefaultChatTransport({ api: `${server.url}/api/chat` }),
        sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
      }),
    );

  it("shows the approval request after a reload, with createHoldpoint", async () => {
    const id = `stock-${Date.now()}`;
    const before = open(id, []);
    await act(async () => void before.result.current.sendMessage({ text: "send $50 to Hanako" }));
    const request = ({ messages }: { messages: UIMessage[] }) =>
      messages.flatMap(toolPartsOf).find(({ state }) => state === "approval-requested")?.approval?.id;
    const approvalId = await until("the request", () => request(before.result.current));
    before.unmount();
    const messages = await createHoldpoint({ baseUrl: server.url }).chats.messages(id);
    const after = open(id, messages);
    await until("the end of the resume", () => after.result.current.status === "ready");
    expect(request(after.result.current)).toBe(approvalId);
    await act(async () => void after.result.current.addToolApprovalResponse({ id: approvalId, approved: true }));
    await until("the outcome", () =>
      shown(after.result.current.messages.at(-1)).includes("process_payment: output-available"),
    );
  });
});
