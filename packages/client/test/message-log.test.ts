import { describe, expect, it } from "vitest";
import type { Chunk, UiMessage } from "../src/protocol.js";
import { MessageLog } from "../src/transport/message-log.js";

const turn: Chunk[] = [
  { type: "start", messageId: "m1" },
  { type: "reasoning-start", id: "0" },
  { type: "reasoning-delta", id: "0", delta: "I think, " },
  { type: "reasoning-delta", id: "0", delta: "so 🙂 I ask." },
  { type: "reasoning-end", id: "0" },
  { type: "tool-input-start", toolCallId: "c1", toolName: "pay" },
  { type: "tool-input-available", toolCallId: "c1", toolName: "pay", input: { amount: 5 } },
  { type: "start-step" },
  { type: "tool-approval-request", approvalId: "a1", toolCallId: "c1" },
  { type: "finish-step" },
  { type: "tool-output-available", toolCallId: "c1", output: { ok: true } },
  { type: "source-url", sourceId: "s1", url: "https://example.com" },
  { type: "text-start", id: "1" },
  { type: "text-delta", id: "1", delta: "Paid " },
  { type: "text-delta", id: "1", delta: "five." },
  { type: "text-end", id: "1" },
  { type: "finish", finishReason: "stop" },
];

/** As the server tells a turn whose call is settled: no input, no approval request, deltas joined. */
const shortened: Chunk[] = [
  ...turn.slice(0, 2),
  { type: "reasoning-delta", id: "0", delta: "I think, so 🙂 I ask." },
  ...turn.slice(4, 6),
  { type: "tool-input-delta", toolCallId: "c1", inputTextDelta: '{"amount":5}' },
  ...turn.slice(10),
];

const stored: UiMessage = {
  id: "m1",
  role: "assistant",
  parts: [
    { type: "step-start" },
    { type: "reasoning", text: "I think, so 🙂 I ask.", state: "done" },
    { type: "tool-pay", toolCallId: "c1", state: "output-available", input: { amount: 5 }, output: { ok: true } },
    { type: "source-url", sourceId: "s1", url: "https://example.com" },
    { type: "text", text: "Paid five.", state: "done" },
  ],
};

/** Everything unread, with the deltas of a text joined. */
function read(log: MessageLog): (Chunk | "pause")[] {
  const all: (Chunk | "pause")[] = [];
  for (let next = log.next(); next !== undefined; next = log.next()) all.push(next);
  return all;
}

/** What the chunks come to, however they were cut. */
function sum(chunks: (Chunk | "pause")[]): string {
  const said = chunks.map((chunk) => {
    if (chunk === "pause") return "";
    if ("delta" in chunk) return chunk.delta;
    return chunk.type.endsWith("-start") || chunk.type.startsWith("tool-output") || chunk.type === "source-url"
      ? `<${chunk.type}>`
      : "";
  });
  return said.join("");
}

const WHOLE =
  "<reasoning-start>I think, so 🙂 I ask.<tool-input-start><tool-output-available><source-url><text-start>Paid five.";

describe("what was received before is not new", () => {
  it.each(turn.map((_, cut) => cut))("cut after %i chunks, then replayed", (cut) => {
    for (const again of [turn, shortened]) {
      const log = new MessageLog("m1");
      for (const chunk of turn.slice(0, cut)) log.take(chunk);
      const before = read(log);
      log.startReplay();
      for (const chunk of again.slice(1)) log.take(chunk);
      log.end();
      const after = read(log);
      expect(sum([...before, ...after])).toBe(WHOLE);
      const requests = [...before, ...after].filter(
        (chunk) => chunk !== "pause" && chunk.type === "tool-approval-request",
      );
      expect(requests.length).toBeLessThanOrEqual(1);
      expect(after.at(-1)).toBe("pause");
    }
  });

  it.each(turn.map((_, cut) => cut).slice(1))("cut after %i chunks, then read from the stored message", (cut) => {
    const log = new MessageLog("m1");
    for (const chunk of turn.slice(0, cut)) log.take(chunk);
    const before = read(log);
    expect(log.catchUp(stored)).toBe(true);
    const after = read(log);
    expect(sum([...before, ...after])).toBe(WHOLE);
    // Should the server replay it after all, nothing of it is new.
    log.startReplay();
    for (const chunk of turn.slice(1)) log.take(chunk);
    expect(sum(read(log))).toBe("");
  });

  it("for a message that the client has from the history", () => {
    const asking: UiMessage = {
      ...stored,
      parts: [
        ...stored.parts.slice(0, 2),
        {
          type: "tool-pay",
          toolCallId: "c1",
          state: "approval-responded",
          input: {},
          approval: { id: "a1", approved: true },
        },
      ],
    };
    const log = MessageLog.of(asking);
    for (const chunk of turn.slice(1)) log.take(chunk);
    expect(sum(read(log))).toBe("<tool-output-available><source-url><text-start>Paid five.");
  });

  it("a stored message that still waits is not the end", () => {
    const log = new MessageLog("m1");
    const parts = [{ type: "tool-pay", toolCallId: "c1", state: "approval-requested", input: {} } as const];
    expect(log.catchUp({ ...stored, parts })).toBe(false);
    expect(log.isOver).toBe(false);
  });
});

describe("reading", () => {
  it("pauses after the approval request, and not where the answer is there already", () => {
    const log = new MessageLog("m1");
    for (const chunk of turn.slice(0, 10)) log.take(chunk);
    expect(read(log).at(-1)).toBe("pause");
    expect(log.hasUnread).toBe(false);

    const late = new MessageLog("m1");
    for (const chunk of turn) late.take(chunk);
    late.end();
    const all = read(late);
    expect(all.filter((item) => item === "pause")).toEqual(["pause"]);
    expect(all.at(-1)).toBe("pause");
  });

  it("begins anew with settled calls in the short way, which makes no client run them", () => {
    const log = new MessageLog("m1");
    for (const chunk of turn) log.take(chunk);
    log.end();
    read(log);
    log.rewind();
    const again = read(log);
    expect(again.map((chunk) => (chunk === "pause" ? chunk : chunk.type))).toEqual([
      "start",
      "reasoning-start",
      "reasoning-delta",
      "reasoning-end",
      "tool-input-start",
      "tool-input-delta",
      "tool-output-available",
      "source-url",
      "text-start",
      "text-delta",
      "text-end",
      "finish",
      "pause",
    ]);
  });

  it("the end of a turn alone is nothing to show", () => {
    const log = new MessageLog("m1");
    for (const chunk of turn.slice(0, 10)) log.take(chunk);
    read(log);
    log.take({ type: "abort" });
    log.take({ type: "finish" });
    log.end();
    expect(log.hasUnread).toBe(false);
    expect(log.isOver).toBe(true);
  });

  it("is bounded: what is too long to be kept is an error", () => {
    const log = new MessageLog("m1");
    log.take({ type: "text-start", id: "1" });
    const delta = "x".repeat(1024 * 1024);
    for (let i = 0; i < 20; i++) log.take({ type: "text-delta", id: "1", delta });
    const kept = read(log);
    expect(kept.some((item) => item !== "pause" && item.type === "error")).toBe(true);
    expect(JSON.stringify(kept).length).toBeLessThan(16 * 1024 * 1024);
  });
});
