// @vitest-environment jsdom

import { act, cleanup } from "@testing-library/react";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { settledMetadata } from "../src/calls/settled-metadata.js";
import { elsewhere } from "./support/elsewhere.js";
import { modes, renderChat } from "./support/hook.js";
import { startServer, type TestServer } from "./support/server.js";
import { until } from "./support/until.js";

const payment = { amount: 30, recipient: "Alice", currency: "USD" };
const edited = { amount: 20, recipient: "Bob", currency: "USD" };
const script = {
  turns: [
    {
      when: "one",
      steps: [[{ toolCall: { name: "process_payment", input: payment } }], [{ text: ["It is ", "done."] }]],
    },
    {
      when: "open",
      steps: [
        [
          { toolCall: { name: "process_payment", input: payment } },
          { toolCall: { name: "open-url", input: { url: "https://example.com" } } },
        ],
        [{ text: ["Both ", "done."] }],
      ],
    },
  ],
};

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ script });
});
afterAll(() => server.stop());
afterEach(() => cleanup());

describe.each(modes)("%s", (mode) => {
  const open = (id?: string) => renderChat(mode, { baseUrl: server.url, ...(id !== undefined && { id }) });

  it("shows the edited input, and one part, from the decision to the end and after a reload", async () => {
    const chat = open();
    await chat.say("one");
    const id = await chat.approvalRequest();
    await act(async () => {
      const settled = await chat.chat().decide(id, { approved: true, input: edited, reason: "less" });
      expect(settled).toMatchObject({ state: "in-force", kind: "edit", approved: true, input: edited });
    });
    expect(chat.calls().map(({ input }) => input)).toEqual([edited]);
    await chat.settled("output-available");
    const [call, ...more] = chat.calls();
    expect(more).toEqual([]);
    expect(call).toMatchObject({ input: edited, output: { amount: 20, recipient: "Bob" } });
    const [hold] = await elsewhere(server.url).holds(chat.chatId);
    expect(hold).toMatchObject({ input: edited, decision: { kind: "edit", originalInput: payment, reason: "less" } });
    await until("the record", () => settledMetadata(chat.calls()[0])?.edited === true);
    expect(chat.chat().messages).toHaveLength(2);
    cleanup();
    const again = open(chat.chatId);
    await until("the history", () => again.calls().length > 0);
    expect(again.calls()).toMatchObject([{ input: edited }]);
  });

  it("shows the input that somebody else has edited", async () => {
    const chat = open();
    await chat.say("one");
    const id = await chat.approvalRequest();
    await elsewhere(server.url).decideWith(id, { approved: true, input: edited });
    await chat.settled("output-available");
    expect(chat.calls()).toMatchObject([{ input: edited, output: { recipient: "Bob" } }]);
    expect(chat.chat().messages).toHaveLength(2);
  });

  it("shows the edited input in the response that has announced the call", async () => {
    let close = () => {};
    const isClosed = new Promise<void>((resolve) => {
      close = resolve;
    });
    const handlers = { "open-url": () => isClosed };
    const seen = new Set<string>();
    const chat = renderChat(mode, {
      baseUrl: server.url,
      handlers,
      onChunk: (chunk) => void (typeof chunk === "object" && seen.add(chunk.type)),
    });
    await chat.say("open");
    const { approvals } = elsewhere(server.url);
    const asked = await until("the request", async () =>
      (await approvals()).find((each) => each.chatId === chat.chatId),
    );
    await elsewhere(server.url).decideWith(asked.approvalId, { approved: true, input: edited });
    close();
    const paid = () => chat.calls().filter(({ toolCallId }) => toolCallId === asked.toolCallId);
    await until("the outcome", () => paid()[0]?.state === "output-available");
    expect(paid()).toMatchObject([{ input: edited }]);
    await chat.settled("output-available");
    expect(paid()).toMatchObject([{ input: edited }]);
    expect(chat.calls()).toHaveLength(2);
    expect(seen).toContain("data-holdpoint-input");
  });

  it("answers in the tool's place", async () => {
    const chat = open();
    await chat.say("one");
    const id = await chat.approvalRequest();
    await act(async () => {
      const settled = await chat.chat().decide(id, { output: { success: true, note: "by hand" } });
      expect(settled).toMatchObject({ state: "in-force", kind: "answer", approved: true });
    });
    await chat.settled("output-available");
    expect(chat.calls()).toMatchObject([{ input: payment, output: { success: true, note: "by hand" } }]);
    const [hold] = await elsewhere(server.url).holds(chat.chatId);
    expect(hold).toMatchObject({ decision: { kind: "answer" }, outcome: { cause: "decision" } });
  });

  it("says where an input does not fit, and the request stays open", async () => {
    const chat = open();
    await chat.say("one");
    const id = await chat.approvalRequest();
    await act(async () => {
      const settled = await chat.chat().decide(id, { approved: true, input: { ...edited, amount: "much" } });
      expect(settled).toMatchObject({
        state: "refused",
        kind: "edit",
        error: { status: 422, pointer: "/input/amount" },
      });
    });
    expect(chat.calls()).toMatchObject([{ state: "approval-requested", input: payment }]);
    await act(async () => void (await chat.chat().deny(id)));
    await until("the outcome", () => chat.calls()[0]?.state.startsWith("output-"));
  });
});
