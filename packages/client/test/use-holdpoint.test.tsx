// @vitest-environment jsdom

import { act, cleanup, renderHook } from "@testing-library/react";
import * as ai from "ai";
import { StrictMode } from "react";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { ApprovalsClient, changeBgm, getLocation, openUrl, type ToolHandlers } from "../src/index.js";
import { type HoldpointMode, type UseHoldpointOptions, useHoldpoint } from "../src/react/index.js";
import { toolPartOf } from "../src/tools/tool-part.js";
import { shown } from "./support/chat.js";
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

// The types are those of version 7 only, the module may be that of version 6.
const webSocketTransport = (ai as { WebSocketChatTransport?: typeof ai.WebSocketChatTransport }).WebSocketChatTransport;
const modes: HoldpointMode[] = ["sse", "live", "ai-sdk", ...(webSocketTransport ? (["ai-sdk-ws"] as const) : [])];
let chats = 0;

function renderChat(mode: HoldpointMode, options: Partial<UseHoldpointOptions> = {}) {
  const chatId = options.chatId ?? `hook-${mode}-${chats++}-${Date.now()}`;
  const ran: string[] = [];
  const position = { coords: { latitude: 35, longitude: 139, accuracy: 5 }, timestamp: 0 } as GeolocationPosition;
  const geolocation = {
    getCurrentPosition: (onPosition: PositionCallback) => {
      ran.push("get_location");
      onPosition(position);
    },
  } as Geolocation;
  const handlers: ToolHandlers = {
    get_location: getLocation({ geolocation }),
    "open-url": openUrl({
      open: ({ url }) => {
        ran.push(`open-url ${url}`);
        return "view-1";
      },
    }),
    change_bgm: changeBgm({ play: (track) => void ran.push(`change_bgm ${track}`) }),
  };
  const errors: Error[] = [];
  const initialProps: UseHoldpointOptions = {
    mode,
    chatId,
    baseUrl: server.url,
    webSocket: WebSocket,
    webSocketTransport,
    handlers,
    onError: (error) => errors.push(error),
    ...options,
  };
  const hook = renderHook(useHoldpoint, { wrapper: StrictMode, initialProps });
  const chat = () => hook.result.current;
  const calls = () => (chat().messages.at(-1)?.parts ?? []).map(toolPartOf).filter((part) => part !== undefined);
  const say = async (text: string) => {
    await until("the tools", () => chat().tools);
    await act(async () => {
      void chat().sendMessage({ text });
    });
  };
  const settled = (state: string) =>
    until(`${mode}: ${state}, and the end`, () => {
      if (errors.length > 0) throw errors[0];
      const isText = chat().messages.at(-1)?.parts.at(-1)?.type === "text";
      return chat().status === "ready" && calls().length > 0 && calls().every((call) => call.state === state) && isText;
    });
  const question = () =>
    until(`${mode}: a question`, () => {
      if (errors.length > 0) throw errors[0];
      const asked = calls().find((call) => call.state === "approval-requested");
      return chat().status === "ready" && asked?.approval?.id;
    });
  return { hook, chat, chatId, calls, say, settled, question, ran, errors };
}

describe.each(modes)("%s", (mode) => {
  it("approve: the answer goes out by itself, once", async () => {
    const { chat, say, question, settled } = renderChat(mode);
    await say("send $50 to Hanako");
    const id = await question();
    await act(() => chat().approve(id));
    await settled("output-available");
    expect(chat().messages).toHaveLength(2);
    expect(shown(chat().messages.at(-1))).toEqual([
      "reasoning: I am asked to send 50 USD to Hanako.",
      "process_payment: output-available",
      "text: I sent 50 USD to Hanako (transaction TXN). Your wallet now holds 950 USD.",
    ]);
  });

  it("deny: the model is told why", async () => {
    const { chat, say, question, settled, calls } = renderChat(mode);
    await say("send $50 to Hanako");
    const id = await question();
    await act(() => chat().deny(id, "too much"));
    await settled(mode.startsWith("ai-sdk") ? "output-denied" : "output-error");
    if (!mode.startsWith("ai-sdk")) expect(calls()[0]?.errorText).toBe("User denied the tool call: too much");
  });

  it("two payments, answered one after the other", async () => {
    const { chat, say, question, settled } = renderChat(mode);
    await say("send $30 to Alice and $40 to Bob");
    const first = await question();
    await act(() => chat().approve(first));
    const second = await until("the second question", () => question().then((id) => id !== first && id));
    await act(() => chat().approve(second));
    await settled("output-available");
    expect(chat().messages).toHaveLength(2);
  });

  it("expiry while nobody reads", async () => {
    const { say, question, settled, calls } = renderChat(mode, { baseUrl: hasty.url });
    await say("send $50 to Hanako");
    await question();
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
    const { chatId, say, question, settled } = renderChat(mode);
    await say("send $50 to Hanako");
    const id = await question();
    const inbox = new ApprovalsClient({ baseUrl: server.url });
    expect((await inbox.list()).find((approval) => approval.chatId === chatId)?.approvalId).toBe(id);
    await inbox.decide(id, { approved: true });
    await settled("output-available");
  });

  it.skipIf(mode === "live")("one question answered here, the other in the inbox", async () => {
    const { chat, say, question, settled, calls } = renderChat(mode);
    await say("send $30 to Alice and $40 to Bob");
    const first = await question();
    await act(() => chat().approve(first));
    const second = calls().find((call) => call.state === "approval-requested")?.approval?.id ?? "";
    expect(calls().map((call) => call.state)).toEqual(["approval-responded", "approval-requested"]);
    await new ApprovalsClient({ baseUrl: server.url }).decide(second, { approved: true });
    await settled("output-available");
  });

  it("a frontend tool that is approved in the inbox runs here", async () => {
    const { say, question, settled, ran } = renderChat(mode);
    await say("where am I?");
    const id = await question();
    await new ApprovalsClient({ baseUrl: server.url }).decide(id, { approved: true });
    await settled("output-available");
    expect(ran).toEqual(["get_location"]);
  });

  it("a frontend tool that was approved before a reload runs", async () => {
    const chatId = `reload-${mode}-${chats++}-${Date.now()}`;
    const message = { id: "u1", role: "user", parts: [{ type: "text", text: "where am I?" }] } as const;
    const body = JSON.stringify({ id: chatId, messages: [message] });
    await (await fetch(`${server.url}/stream`, { method: "POST", body })).text();
    const inbox = new ApprovalsClient({ baseUrl: server.url });
    const asked = (await inbox.list()).find((approval) => approval.chatId === chatId);
    await inbox.decide(asked?.approvalId ?? "", { approved: true });
    const { settled, ran } = renderChat(mode, { chatId, initialMessages: [structuredClone(message) as never] });
    await settled("output-available");
    expect(ran).toEqual(["get_location"]);
  });

  it("a frontend tool with approval runs once, and only after it", async () => {
    const { chat, say, question, settled, ran, calls } = renderChat(mode);
    await say("where am I?");
    const id = await question();
    expect(ran).toEqual([]);
    await act(() => chat().approve(id));
    await settled("output-available");
    expect(ran).toEqual(["get_location"]);
    expect(calls()[0]?.output).toMatchObject({ latitude: 35, longitude: 139, accuracy: 5 });
    expect(chat().toolErrors).toEqual({});
  });

  it("a denied frontend tool does not run", async () => {
    const { chat, say, question, settled, ran } = renderChat(mode);
    await say("where am I?");
    const id = await question();
    await act(() => chat().deny(id));
    await settled(mode.startsWith("ai-sdk") ? "output-denied" : "output-error");
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
    const again = renderChat(mode, { initialMessages: chat().messages });
    await until("the tools", () => again.chat().tools);
    expect(again.ran).toEqual([]);
  });

  it("stop closes a turn that waits", async () => {
    const { chat, say, question, calls } = renderChat(mode);
    await say("send $50 to Hanako");
    const id = await question();
    await act(() => chat().stop());
    await until("the outcome", () => calls()[0]?.state.startsWith("output-"));
    await expect(new ApprovalsClient({ baseUrl: server.url }).decide(id, { approved: true })).rejects.toMatchObject({
      status: 410,
    });
    await say("send $10 to Hanako");
    await question();
    expect(chat().messages).toHaveLength(4);
  });

  it("a new mount picks the question up", async () => {
    const first = renderChat(mode);
    await first.say("send $50 to Hanako");
    await first.question();
    const initialMessages = first.chat().messages;
    first.hook.unmount();
    const second = renderChat(mode, { chatId: first.chatId, initialMessages });
    await until("the tools", () => second.chat().tools);
    const id = await second.question();
    await act(() => second.chat().approve(id));
    await second.settled("output-available");
    expect(second.chat().messages).toHaveLength(2);
  });
});

describe("the race between an approval and its result", () => {
  it.each(["sse", "live"] as const)("%s: both in one tick go out in one request", async (mode) => {
    const sent: string[] = [];
    const spy: typeof fetch = async (input, init) => {
      if (init?.method === "POST" && String(input).endsWith("/stream")) sent.push(String(init?.body));
      return fetch(input, init);
    };
    class Spy extends WebSocket {
      override send(data: string): void {
        if (data.includes('"message"')) sent.push(data);
        super.send(data);
      }
    }
    // Without a handler the application does it all by itself, and as badly as it can.
    const { chat, say, question, settled, calls } = renderChat(mode, {
      fetch: spy,
      webSocket: Spy as typeof WebSocket,
      handlers: {},
    });
    await say("where am I?");
    const id = await question();
    const { toolCallId } = calls()[0] ?? { toolCallId: "" };
    await act(async () => {
      void chat().addToolApprovalResponse({ id, approved: true });
      void chat().addToolOutput({
        tool: "get_location",
        toolCallId,
        output: { latitude: 1, longitude: 2, accuracy: 3 },
      });
    });
    await settled("output-available");
    expect(sent).toHaveLength(2);
    expect(sent[1]).toContain('"approved":true');
    expect(sent[1]).toContain('"latitude":1');
  });
});

it("says what ai-sdk-ws needs", () => {
  expect(() => renderChat("ai-sdk-ws", { webSocketTransport: undefined })).toThrow(/needs version 7/);
});
