import { readFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import type { AutoSendContext, AutoSendMessage } from "../src/auto-send/should-auto-send.js";
import { sendAutomaticallyWhen, shouldAutoSend } from "../src/index.js";

type Case = {
  name: string;
  messages?: unknown;
  parts?: unknown;
  context?: AutoSendContext;
  send: boolean;
  check: number;
};
// The same file as the Rust function is tested with.
const table = new URL("../../../fixtures/auto-send.json", import.meta.url);
const { cases } = JSON.parse(readFileSync(table, "utf8")) as { cases: Case[] };

const approved = (state: string, more: object = {}) => ({
  role: "assistant",
  parts: [{ type: "tool-pay", toolCallId: "c1", state, input: {}, approval: { id: "p1", approved: true }, ...more }],
});

describe("shouldAutoSend", () => {
  it.each(cases)("$name", ({ context, send, check, ...given }) => {
    const messages = "messages" in given ? given.messages : [{ role: "assistant", parts: given.parts }];
    const result = shouldAutoSend(messages as AutoSendMessage[], context);
    expect({ send: result.send, check: result.check }).toEqual({ send, check });
  });

  it("has a case for every check", () => {
    expect(new Set(cases.map(({ check }) => check))).toEqual(new Set([1, 2, 3, 4, 5, 6, 7, 8]));
  });

  it("says no to what is missing", () => {
    expect(shouldAutoSend(undefined)).toEqual({ send: false, check: 1 });
    expect(shouldAutoSend([undefined] as unknown as AutoSendMessage[])).toEqual({ send: false, check: 1 });
    const autoSend = sendAutomaticallyWhen() as (options?: unknown) => boolean;
    expect([autoSend(), autoSend(null), autoSend({}), autoSend({ messages: null })]).toEqual(Array(4).fill(false));
  });

  it("names what it sends", () => {
    expect(shouldAutoSend([approved("approval-responded")])).toEqual({
      send: true,
      check: 8,
      answers: ["approval:c1"],
    });
    expect(shouldAutoSend([approved("output-available", { output: 1 })])).toEqual({
      send: true,
      check: 7,
      answers: ["result:c1"],
    });
  });
});

describe("sendAutomaticallyWhen", () => {
  it("sends a state once, and again after its request has failed", () => {
    const autoSend = sendAutomaticallyWhen();
    const messages = [approved("approval-responded")];
    expect([autoSend({ messages }), autoSend({ messages })]).toEqual([true, false]);
    autoSend.requestFailed();
    expect([autoSend({ messages }), autoSend({ messages })]).toEqual([true, false]);
  });

  it("forgets only what the failed request carried", () => {
    const autoSend = sendAutomaticallyWhen();
    expect(autoSend({ messages: [approved("approval-responded")] })).toBe(true);
    const result = approved("output-available", { output: 1 });
    expect(autoSend({ messages: [result] })).toBe(true);
    autoSend.requestFailed();
    expect(autoSend({ messages: [result] })).toBe(true);
    expect(autoSend({ messages: [approved("approval-responded")] })).toBe(false);
  });

  it("knows the server's outcomes from the chunks", () => {
    const autoSend = sendAutomaticallyWhen();
    autoSend.observe({ type: "tool-output-available", toolCallId: "c1" });
    expect(autoSend({ messages: [approved("output-available")] })).toBe(false);
  });

  it("learns later which tools are the browser's", () => {
    const autoSend = sendAutomaticallyWhen();
    autoSend.setFrontendTools(["pay"]);
    expect(autoSend({ messages: [approved("approval-responded")] })).toBe(false);
  });

  it("watches a transport: outcomes, and failures of the request and on the way", async () => {
    const chunks = [{ type: "start" }, { type: "tool-output-available", toolCallId: "c1", output: 1 }] as const;
    const rest = [...chunks];
    const stream = () =>
      new ReadableStream({
        pull(controller) {
          const chunk = rest.shift();
          if (chunk === undefined) controller.error(new Error("lost"));
          else controller.enqueue(chunk);
        },
      });
    const sendMessages = vi.fn().mockRejectedValueOnce(new Error("refused")).mockResolvedValue(stream());
    const autoSend = sendAutomaticallyWhen();
    const transport = autoSend.watch({ sendMessages, reconnectToStream: async () => null });
    const request = () =>
      transport.sendMessages({
        trigger: "submit-message",
        chatId: "c",
        messageId: "m",
        messages: [],
        abortSignal: undefined,
      });

    expect(autoSend({ messages: [approved("approval-responded")] })).toBe(true);
    await expect(request()).rejects.toThrow("refused");
    expect(autoSend({ messages: [approved("approval-responded")] })).toBe(true);

    const reader = (await request()).getReader();
    await expect(reader.read()).resolves.toMatchObject({ value: { type: "start" } });
    await expect(reader.read()).resolves.toMatchObject({ value: { type: "tool-output-available" } });
    expect(autoSend({ messages: [approved("output-available")] })).toBe(false);
    expect(autoSend({ messages: [approved("approval-responded")] })).toBe(false);
    await expect(reader.read()).rejects.toThrow("lost");
    expect(autoSend({ messages: [approved("approval-responded")] })).toBe(true);
  });
});
