import { describe, expect, it } from "vitest";
import type { Chunk, UiMessage } from "../src/protocol.js";
import { editedInputOf, withEditedInputs } from "../src/tools/edited-inputs.js";
import { MessageLog } from "../src/transport/message-log.js";

const edit: Chunk = {
  type: "data-holdpoint-input",
  data: { toolCallId: "c1", input: { amount: 7 } },
  transient: true,
};
const begun: Chunk[] = [
  { type: "start", messageId: "m1" },
  { type: "tool-input-start", toolCallId: "c1", toolName: "pay" },
  { type: "tool-input-available", toolCallId: "c1", toolName: "pay", input: { amount: 5 } },
  { type: "start-step" },
  { type: "tool-approval-request", approvalId: "a1", toolCallId: "c1" },
  { type: "finish-step" },
];
const ended: Chunk[] = [
  { type: "tool-output-available", toolCallId: "c1", output: "paid" },
  { type: "source-url", sourceId: "s1", url: "https://example.com" },
];

function read(log: MessageLog): (Chunk | "pause")[] {
  const all: (Chunk | "pause")[] = [];
  for (let next = log.next(); next !== undefined; next = log.next()) all.push(next);
  return all;
}

function logOf(chunks: readonly Chunk[]): MessageLog {
  const log = new MessageLog("m1");
  for (const chunk of chunks) log.take(chunk);
  return log;
}

/** The inputs in chunks, in whichever form. */
const inputs = (chunks: readonly (Chunk | "pause")[]): unknown[] =>
  chunks.flatMap((chunk) => {
    if (chunk === "pause") return [];
    if (chunk.type === "tool-input-available") return [chunk.input];
    if (chunk.type === "tool-input-delta") return [JSON.parse(chunk.inputTextDelta)];
    return editedInputOf(chunk)?.input ?? [];
  });

describe("an edited input on a live connection", () => {
  it("is all that a reader sees who comes later", () => {
    const log = logOf([...begun, edit]);
    expect(inputs(read(log))).toEqual([{ amount: 7 }]);
  });

  it("is told to a reader that has seen the other one, and a reader that starts over gets only the edited one", () => {
    const log = logOf(begun);
    expect(inputs(read(log))).toEqual([{ amount: 5 }]);
    log.take(edit);
    expect(log.hasUnread).toBe(false);
    for (const chunk of ended) log.take(chunk);
    expect(log.hasUnread).toBe(true);
    log.rewind();
    expect(inputs(read(log))).toEqual([{ amount: 7 }]);
  });

  it.each([
    ["running", [...begun.slice(0, 2), { ...begun[2], input: { amount: 7 } } as Chunk]],
    [
      "settled",
      [
        ...begun.slice(0, 2),
        { type: "tool-input-delta", toolCallId: "c1", inputTextDelta: '{"amount":7}' } as Chunk,
        ...ended,
      ],
    ],
  ])("is noticed if it was missed, and the call is %s", (_, replay) => {
    const log = logOf(begun);
    read(log);
    log.startReplay();
    for (const chunk of replay) log.take(chunk);
    expect(inputs(read(log))).toEqual([{ amount: 7 }]);
    log.rewind();
    expect(inputs(read(log))).toEqual([{ amount: 7 }]);
  });

  it("does not hide the parts of a replay, which does not repeat it", () => {
    const log = logOf([...begun, edit]);
    read(log);
    log.startReplay();
    const replay = [...begun.slice(1, 2), { ...begun[2], input: { amount: 7 } } as Chunk, ...ended];
    for (const chunk of replay) log.take(chunk);
    expect(read(log)).toEqual(ended);
  });

  it("is in the stored message that is read because the end was missed", () => {
    const log = logOf(begun);
    read(log);
    const stored: UiMessage = {
      id: "m1",
      role: "assistant",
      parts: [{ type: "tool-pay", toolCallId: "c1", state: "output-available", input: { amount: 7 }, output: "paid" }],
    };
    expect(log.catchUp(stored)).toBe(true);
    expect(inputs(read(log))).toEqual([{ amount: 7 }]);
  });
});

describe("withEditedInputs", () => {
  const part = { type: "tool-pay", toolCallId: "c1", state: "approval-requested", input: { amount: 5 } };
  const messages = [{ parts: [{ type: "text", text: "c1" }] }, { parts: [part] }];

  it("changes the part of the call and nothing else", () => {
    const changed = withEditedInputs(messages, { c1: { amount: 7 } });
    expect(changed[0]).toBe(messages[0]);
    expect(changed[1]?.parts).toEqual([{ ...part, input: { amount: 7 } }]);
  });

  it("keeps the identity of what says the same", () => {
    expect(withEditedInputs(messages, {})).toBe(messages);
    expect(withEditedInputs(messages, { c1: { amount: 5 }, c2: 1 })).toBe(messages);
  });
});

it.each([
  [{ type: "data-holdpoint-input" }],
  [{ type: "data-holdpoint-input", data: null }],
  [{ type: "data-holdpoint-input", data: { toolCallId: 1, input: 1 } }],
  [{ type: "data-holdpoint-input", data: { toolCallId: "c1" } }],
  [{ type: "data-other", data: { toolCallId: "c1", input: 1 } }],
])("%j is not an edited input", (chunk) => {
  expect(editedInputOf(chunk)).toBeUndefined();
});
