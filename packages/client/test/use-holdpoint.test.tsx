// @vitest-environment jsdom

import { act, cleanup } from "@testing-library/react";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { settledMetadata } from "../src/calls/settled-metadata.js";
import type { HoldpointMode } from "../src/react/index.js";
import { shown } from "./support/chat.js";
import { elsewhere } from "./support/elsewhere.js";
import { type ChatOptions, modes, newChatId, renderChat as renderChatAt } from "./support/hook.js";
import { startServer, type TestServer } from "./support/server.js";
import { until } from "./support/until.js";

let server: TestServer;
let hasty: TestServer;
beforeAll(async () => {
  server = await startServer();
  // Here an approval expires at once.
  hasty = await startServer({ env: { HOLDPOINT_TOOLS__PROCESS_PAYMENT__APPROVAL_TIMEOUT_SEC: "1" } });
});
afterAll(async () => {
  await server.stop();
  await hasty.stop();
});
afterEach(cleanup);

const renderChat = (mode: HoldpointMode, { baseUrl = server.url, ...options }: ChatOptions = {}) =>
  renderChatAt(mode, { baseUrl, ...options });

describe.each(modes)("%s", (mode) => {
  it("approve: the answer goes out by itself, once", async () => {
    const { chat, say, approvalRequest, settled } = renderChat(mode);
    await say("send $50 to Hanako");
    const id = await approvalRequest();
    await act(async () => void (await chat().approve(id)));
    await settled("output-available");
    expect(chat().messages).toHaveLength(2);
    expect(shown(chat().messages.at(-1))).toEqual([
      "reasoning: I am asked to send 50 USD to Hanako.",
      "process_payment: output-available",
      "text: I sent 50 USD to Hanako (transaction TXN). Your wallet now holds 950 USD.",
    ]);
  });

  it("deny: the model is told why", async () => {
    const { chat, say, approvalRequest, settled, calls } = renderChat(mode);
    await say("send $50 to Hanako");
    const id = await approvalRequest();
    await act(async () => void (await chat().deny(id, "too much")));
    await settled("output-denied");
    expect(calls()[0]?.approval).toEqual({ id, approved: false, reason: "too much" });
    const metadata = await until("the record", () => settledMetadata(calls()[0]));
    expect(metadata).toMatchObject({ cause: "decision", decidedBy: ["local"], edited: false });
  });

  it("two payments, answered one after the other", async () => {
    const { chat, say, approvalRequest, settled } = renderChat(mode);
    await say("send $30 to Alice and $40 to Bob");
    const first = await approvalRequest();
    await act(async () => void (await chat().approve(first)));
    const second = await until("the second approval request", () => approvalRequest().then((id) => id !== first && id));
    await act(async () => void (await chat().approve(second)));
    await settled("output-available");
    expect(chat().messages).toHaveLength(2);
  });

  it("expiry while nobody reads", async () => {
    const { say, approvalRequest, settled, calls } = renderChat(mode, { baseUrl: hasty.url });
    await say("send $50 to Hanako");
    await approvalRequest();
    if (mode === "live") {
      await settled("output-error");
      expect(calls()[0]?.errorText).toBe("Approval request timed out");
    } else {
      // No response is open, so the model waits for the next request; the outcome is there.
      await until("the outcome", () => calls()[0]?.state === "output-error");
      expect(calls()[0]?.errorText).toBe("Approval request timed out");
    }
  });

  it("decided in the inbox", async () => {
    const { chatId, say, approvalRequest, settled } = renderChat(mode);
    await say("send $50 to Hanako");
    const id = await approvalRequest();
    const inbox = elsewhere(server.url);
    expect((await inbox.approvals()).find((approval) => approval.chatId === chatId)?.approvalId).toBe(id);
    expect(await inbox.decide(id, true)).toBe(200);
    await settled("output-available");
  });

  it.skipIf(mode === "live")("one approval request answered here, the other in the inbox", async () => {
    const { chat, say, approvalRequest, settled, calls } = renderChat(mode);
    await say("send $30 to Alice and $40 to Bob");
    const first = await approvalRequest();
    await act(async () => void (await chat().approve(first)));
    const second = calls().find((call) => call.state === "approval-requested")?.approval?.id ?? "";
    await until("the first outcome", () => calls()[0]?.state === "output-available");
    expect(calls()[1]?.state).toBe("approval-requested");
    expect(await elsewhere(server.url).decide(second, true)).toBe(200);
    await settled("output-available");
  });

  it("a frontend tool that is approved in the inbox runs here", async () => {
    const { say, approvalRequest, settled, ran } = renderChat(mode);
    await say("where am I?");
    const id = await approvalRequest();
    expect(await elsewhere(server.url).decide(id, true)).toBe(200);
    await settled("output-available");
    expect(ran).toEqual(["get_location"]);
  });

  it("a frontend tool that was approved before a reload runs", async () => {
    const chatId = newChatId(`reload-${mode}`);
    const inbox = elsewhere(server.url);
    await inbox.say(chatId, "u1", "where am I?");
    const asked = (await inbox.approvals()).find((approval) => approval.chatId === chatId);
    expect(await inbox.decide(asked?.approvalId ?? "", true)).toBe(200);
    const { settled, ran } = renderChat(mode, { id: chatId });
    await settled("output-available");
    expect(ran).toEqual(["get_location"]);
  });

  it("a frontend tool with approval runs once, and only after it", async () => {
    const { chat, say, approvalRequest, settled, ran, calls } = renderChat(mode);
    await say("where am I?");
    const id = await approvalRequest();
    expect(ran).toEqual([]);
    await act(async () => void (await chat().approve(id)));
    await settled("output-available");
    expect(ran).toEqual(["get_location"]);
    expect(calls()[0]?.output).toMatchObject({ latitude: 35, longitude: 139, accuracy: 5 });
    expect(chat().toolErrors).toEqual({});
  });

  it("a denied frontend tool does not run", async () => {
    const { chat, say, approvalRequest, settled, ran } = renderChat(mode);
    await say("where am I?");
    const id = await approvalRequest();
    await act(async () => void (await chat().deny(id)));
    await settled("output-denied");
    expect(ran).toEqual([]);
  });

  it("a frontend tool without approval runs at once", async () => {
    const { say, settled, ran, calls } = renderChat(mode);
    await say("open https://example.com/");
    await settled("output-available");
    expect(ran).toEqual(["open-url https://example.com/"]);
    expect(calls()[0]?.output).toMatchObject({
      status: "success",
      output: { url: "https://example.com/", viewKey: "view-1" },
    });
  });

  it("a delegated tool runs once, and not from the history", async () => {
    const { chat, say, settled, ran } = renderChat(mode);
    await say("play track 2");
    await settled("output-available");
    await until("the music", () => ran.length > 0);
    expect(ran).toEqual(["change_bgm 2"]);
    const again = renderChat(mode, { messages: chat().messages });
    await until("the tools", () => again.chat().tools);
    expect(again.ran).toEqual([]);
  });

  it("stop closes a turn that waits", async () => {
    const { chat, say, approvalRequest, calls } = renderChat(mode);
    await say("send $50 to Hanako");
    const id = await approvalRequest();
    await act(() => chat().stop());
    await until("the outcome", () => calls()[0]?.state.startsWith("output-"));
    expect(await elsewhere(server.url).decide(id, true)).toBe(410);
    await say("send $10 to Hanako");
    await approvalRequest();
    expect(chat().messages).toHaveLength(4);
  });

  it("a new mount picks the approval request up", async () => {
    const first = renderChat(mode);
    await first.say("send $50 to Hanako");
    await first.approvalRequest();
    const messages = first.chat().messages;
    first.hook.unmount();
    const second = renderChat(mode, { id: first.chatId, messages });
    await until("the tools", () => second.chat().tools);
    const id = await second.approvalRequest();
    await act(async () => void (await second.chat().approve(id)));
    await second.settled("output-available");
    expect(second.chat().messages).toHaveLength(2);
  });
});

describe("an application without handlers", () => {
  it.each(
    modes,
  )("%s: an approval and a result in one tick both reach the server, before they are shown", async (mode) => {
    const acks: string[] = [];
    const states: (string | undefined)[] = [];
    const spy: typeof fetch = async (input, init) => {
      const path = new URL(String(input)).pathname;
      if (path === "/api/tools/ack" || path.startsWith("/api/approvals/")) {
        acks.push(path);
        states.push(calls()[0]?.state);
      }
      return fetch(input, init);
    };
    const { chat, say, approvalRequest, settled, calls } = renderChat(mode, { fetch: spy, handlers: undefined });
    await say("where am I?");
    const id = await approvalRequest();
    const { toolCallId } = calls()[0] ?? { toolCallId: "" };
    await act(async () => {
      const approved = chat().addToolApprovalResponse({ id, approved: true });
      const output = { latitude: 1, longitude: 2, accuracy: 3 };
      const answered = chat().addToolOutput({ tool: "get_location", toolCallId, output });
      await Promise.all([approved, answered]);
    });
    await settled("output-available");
    expect(calls()[0]?.output).toMatchObject({ latitude: 1 });
    expect(acks).toContain(`/api/approvals/${id}`);
    expect(states.filter((state) => state?.startsWith("output-"))).toEqual([]);
  });
});

it("says what ai-sdk-ws needs", () => {
  expect(() => renderChat("ai-sdk-ws", { webSocketTransport: undefined })).toThrow(/needs version 7/);
});
