import type { UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import type { ChatHold, UiMessage } from "../src/protocol.js";
import { hasOutdated, mergeEarlier, mergeRecord, settledCalls } from "../src/react/merge-record.js";

const user = (id: string) => ({ id, role: "user", parts: [{ type: "text", text: id }] }) as UIMessage & UiMessage;
const call = (toolCallId: string, state: string, more: object = {}) => ({
  type: "tool-pay",
  toolCallId,
  state,
  input: {},
  ...more,
});
const assistant = (id: string, ...parts: object[]) => ({ id, role: "assistant", parts }) as UIMessage & UiMessage;
const asked = (id: string) => call(id, "approval-requested", { approval: { id: `${id}?` } });
const hold = (id: string, more: Partial<ChatHold> = {}): ChatHold => ({
  toolCallId: id,
  toolName: "pay",
  input: {},
  kind: "approval",
  state: "waiting",
  approvalId: `${id}?`,
  requestedAt: "2026-11-15T12:00:00Z",
  allowed: [],
  cut: false,
  ...more,
});
const approve: Partial<ChatHold> = {
  state: "running",
  decision: { kind: "approve", by: ["bob"], at: "2026-11-15T12:00:00Z", reason: "fine" },
};
const local = { unsent: new Set<string>(), undecided: new Set<string>() };
const ids = (messages: readonly { id: string }[]) => messages.map(({ id }) => id);

describe("settledCalls", () => {
  it("does not count the progress of a running tool", () => {
    const parts = [call("c1", "output-available", { preliminary: true }), call("c2", "output-available")];
    expect(settledCalls([assistant("a1", ...parts)])).toEqual(["c2"]);
  });
});

describe("mergeRecord", () => {
  it("shows the record, and keeps what says the same", () => {
    const shown = [user("u1"), assistant("a1", asked("c1"))];
    const same = mergeRecord(shown, { stored: structuredClone(shown), holds: [hold("c1")] }, local);
    expect(same).toBe(shown);
    const stored = [user("u1"), assistant("a1", call("c1", "output-denied"))];
    const merged = mergeRecord(shown, { stored, holds: [] }, local);
    expect(merged[0]).toBe(shown[0]);
    expect(merged[1]).toBe(stored[1]);
  });

  it("shows messages of others, and not those that are gone", () => {
    const shown = [user("u1"), assistant("a1"), user("u2"), assistant("a2")];
    const stored = [user("u1"), assistant("a3"), user("u3"), assistant("a4")];
    expect(ids(mergeRecord(shown, { stored, holds: [] }, local))).toEqual(["u1", "a3", "u3", "a4"]);
  });

  it("keeps what is being written, with the decisions that are in force", () => {
    const shown = [user("u1"), assistant("a1", asked("c1"), asked("c2"), asked("c3"))];
    const holds = [hold("c1", approve), hold("c2"), hold("c3", { decision: { kind: "deny", by: [], at: "" } })];
    const [, merged] = mergeRecord(shown, { stored: [user("u1")], holds }, local);
    expect(merged?.parts).toMatchObject([
      { state: "approval-responded", approval: { id: "c1?", approved: true, reason: "fine" } },
      { state: "approval-requested" },
      { state: "approval-responded", approval: { id: "c3?", approved: false } },
    ]);
  });

  it("shows the input that an approver has put in place of the model's, and an answer as decided", () => {
    const shown = [user("u1"), assistant("a1", asked("c1"), asked("c2"))];
    const edit: ChatHold["decision"] = { kind: "edit", by: ["bob"], at: "", originalInput: {} };
    const holds = [
      hold("c1", { state: "running", input: { amount: 1 }, decision: edit }),
      hold("c2", { decision: { kind: "answer", by: ["bob"], at: "" } }),
    ];
    const [, merged] = mergeRecord(shown, { stored: [user("u1")], holds }, local);
    expect(merged?.parts).toMatchObject([
      { state: "approval-responded", input: { amount: 1 }, approval: { approved: true } },
      { state: "approval-responded", input: {}, approval: { approved: true } },
    ]);
  });

  it("keeps the message that a connection follows, although the one before it was not read yet", () => {
    const shown = [assistant("a1", asked("c1"))];
    const record = { stored: [user("u1")], holds: [hold("c1", approve)] };
    const merged = mergeRecord(shown, record, { ...local, followed: "a1" });
    expect(ids(merged)).toEqual(["u1", "a1"]);
    expect(merged[1]?.parts[0]).toMatchObject({ state: "approval-responded" });
    expect(ids(mergeRecord(shown, record, local)), "a message that was replaced").toEqual(["u1"]);
  });

  it("leaves a request alone while its decision is being sent", () => {
    const shown = [user("u1"), assistant("a1", asked("c1"))];
    const record = { stored: [user("u1")], holds: [hold("c1", approve)] };
    expect(mergeRecord(shown, record, { ...local, undecided: new Set(["c1?"]) })).toBe(shown);
  });

  it("leaves a message that comes by another way alone, but for its decisions", () => {
    const shown = [user("u1"), assistant("a1", asked("c1"))];
    const stored = [
      user("u0"),
      user("u1"),
      assistant("a1", call("c1", "output-available"), { type: "text", text: "x" }),
    ];
    const record = { stored, holds: [hold("c1", approve)] };
    const merged = mergeRecord(shown, record, { ...local, followed: "a1" });
    expect(ids(merged)).toEqual(["u0", "u1", "a1"]);
    expect(merged[2]?.parts).toMatchObject([{ state: "approval-responded" }]);
  });

  it("keeps messages that the server never got, at the end", () => {
    const shown = [user("u1"), assistant("a1"), user("lost")];
    const stored = [user("u1"), assistant("a1"), user("u2"), assistant("a2")];
    const merged = mergeRecord(shown, { stored, holds: [] }, { ...local, unsent: new Set(["lost"]) });
    expect(ids(merged)).toEqual(["u1", "a1", "u2", "a2", "lost"]);
  });

  it("knows nothing of a chat that the server does not have", () => {
    const shown = [user("u1")];
    expect(mergeRecord(shown, { stored: [], holds: [] }, local)).toBe(shown);
  });
});

describe("mergeEarlier", () => {
  it("puts the whole history before a message that was resumed without it", () => {
    const stored = [user("u1"), assistant("a1"), user("u2")];
    expect(ids(mergeEarlier([assistant("a2")], { stored }))).toEqual(["u1", "a1", "u2", "a2"]);
    expect(ids(mergeEarlier([user("u2"), assistant("a2")], { stored }))).toEqual(["u1", "a1", "u2", "a2"]);
    // The resumed message may be stored by now.
    expect(ids(mergeEarlier([assistant("a1")], { stored: stored.slice(0, 2) }))).toEqual(["u1", "a1"]);
    // Its answer is being written, and has not begun to arrive.
    expect(ids(mergeEarlier([], { stored }))).toEqual(["u1", "a1", "u2"]);
  });

  it("leaves the message alone that is being written here", () => {
    const shown = [user("u1"), assistant("a1", asked("c1")), user("u2"), assistant("a2")];
    const stored = [user("u1"), assistant("a1", call("c1", "output-denied")), user("u2")];
    const merged = mergeEarlier(shown, { stored });
    expect(merged[1]).toBe(stored[1]);
    expect(merged[3]).toBe(shown[3]);
    expect(mergeEarlier(shown.slice(0, 2), { stored })).toEqual(shown.slice(0, 2));
  });

  it("puts another tab's message before what answers it", () => {
    const shown = [user("u1"), assistant("a1"), assistant("a2")];
    const stored = [user("u1"), assistant("a1"), user("u2")];
    expect(ids(mergeEarlier(shown, { stored }))).toEqual(["u1", "a1", "u2", "a2"]);
    // Not before its answer has begun.
    expect(ids(mergeEarlier(shown.slice(0, 2), { stored }))).toEqual(["u1", "a1"]);
  });
});

it("hasOutdated: an earlier message shows a call as open that is settled", () => {
  const shown = [user("u1"), assistant("a1", asked("c1")), user("u2")];
  expect(hasOutdated(shown, [hold("c1", { state: "settled" })])).toBe(true);
  expect(hasOutdated(shown, [hold("c1")])).toBe(false);
  expect(hasOutdated(shown.slice(0, 2), [hold("c1", { state: "settled" })])).toBe(false);
});
