import { describe, expect, it } from "vitest";
import { applyFilter, NO_FILTER, ndjson, typesOf } from "../src/inspector/filter";
import { spansOf } from "../src/inspector/lanes";
import { continued, MAX_ENTRIES, MAX_REQUEST, Recorder } from "../src/inspector/recorder";
import { forgetRecording, MAX_STORED, readRecording, writeRecording } from "../src/inspector/storage";
import { turnsOf } from "../src/inspector/turns";
import { PAYMENT, record } from "./recording";

function delta(text: string): string {
  return JSON.stringify({ type: "text-delta", id: "t", delta: text });
}

/** A recording of one response with this many chunks. */
function long(count: number, text = "word "): Recorder {
  let now = 0;
  const recorder = new Recorder(() => now++);
  const segment = recorder.begin("sse", "POST /stream");
  recorder.request({ label: "POST /stream", headers: { accept: "*/*" }, text: '{"id":"c"}' }, segment);
  for (let i = 0; i < count; i++) recorder.payload(segment, delta(`${text}${i}`));
  return recorder;
}

/** A storage of limited size, as a browser has it. */
function fakeStorage(quota = 5_000_000): Storage {
  const items = new Map<string, string>();
  const size = () => [...items].reduce((sum, [name, text]) => sum + name.length + text.length, 0);
  return {
    getItem: (name: string) => items.get(name) ?? null,
    removeItem: (name: string) => void items.delete(name),
    setItem: (name: string, text: string) => {
      if (size() - (items.get(name)?.length ?? 0) + text.length > quota) throw new Error("QuotaExceededError");
      items.set(name, text);
    },
    get length() {
      return size();
    },
  } as Storage;
}

describe("a very long recording", () => {
  it("keeps the newest entries of a single response, and counts the others", () => {
    const { entries, segments, dropped } = long(MAX_ENTRIES + 500).current();
    expect(entries.length).toBeLessThanOrEqual(MAX_ENTRIES);
    expect(entries.length + dropped).toBe(MAX_ENTRIES + 501);
    expect(entries.at(-1)).toMatchObject({ kind: "chunk", chunk: { delta: `word ${MAX_ENTRIES + 499}` } });
    expect(segments).toHaveLength(1);
    const [turn] = turnsOf({ entries, segments, dropped });
    expect(turn?.isCut, "its beginning is missing, so it can't be checked").toBe(true);
  });

  it("is bounded in bytes too, and so is a request", () => {
    const recorder = long(30, "x".repeat(1_000_000));
    expect(recorder.current().entries.length).toBeLessThan(20);
    expect(recorder.current().dropped).toBeGreaterThan(10);
    recorder.request({ label: "POST /api/chat", text: "y".repeat(MAX_REQUEST + 7) });
    const last = recorder.current().entries.at(-1);
    expect(last).toMatchObject({ kind: "request", text: expect.stringMatching(/y… and 7 more characters$/) });
  });
});

it("what was dropped takes no room from what follows", () => {
  const recorder = new Recorder();
  for (let i = 0; i < 40; i++) {
    const segment = recorder.begin("sse", "GET /stream");
    recorder.payload(segment, delta("x".repeat(1_000_000)));
    recorder.drop(segment);
  }
  const segment = recorder.begin("sse", "POST /stream");
  for (let i = 0; i < 100; i++) recorder.payload(segment, delta("word "));
  expect(recorder.current().entries).toHaveLength(100);
});

describe("the storage", () => {
  it("gives back what was recorded", () => {
    const storage = fakeStorage();
    const recording = record([...PAYMENT, { at: 6000, browser: "c1" }]);
    writeRecording(storage, "chat", recording);
    expect(readRecording(storage, "chat")).toEqual(recording);
    const ten = long(10_000).current();
    writeRecording(storage, "chat", ten);
    expect(readRecording(storage, "chat")).toEqual(ten);
    forgetRecording(storage, "chat");
    expect(readRecording(storage, "chat")).toBeUndefined();
  });

  it("drops the oldest entries where there are too many, and says how many", () => {
    const storage = fakeStorage();
    const recording = long(2_000, "x".repeat(2_000)).current();
    writeRecording(storage, "chat", recording);
    expect(storage.length).toBeLessThan(MAX_STORED * 1.01);
    const read = readRecording(storage, "chat");
    expect(read?.entries.at(-1)).toMatchObject({ ...recording.entries.at(-1), index: expect.any(Number) });
    expect((read?.entries.length ?? 0) + (read?.dropped ?? 0)).toBe(2_001);
    expect(read?.dropped).toBeGreaterThan(1_000);
  });

  it("makes room by dropping the chats that were stored longest ago", () => {
    const storage = fakeStorage();
    const third = long(400, "x".repeat(2_000)).current();
    for (const chatId of ["a", "b", "c"]) writeRecording(storage, chatId, third);
    expect(readRecording(storage, "a")).toEqual({ entries: [], segments: [], dropped: 401 });
    expect(readRecording(storage, "b")?.entries).toHaveLength(401);
    expect(readRecording(storage, "c")?.entries).toHaveLength(401);
  });

  it("takes less where the browser has less, and nothing that is not its own", () => {
    const small = fakeStorage(100_000);
    writeRecording(small, "chat", long(2_000, "x".repeat(200)).current());
    const read = readRecording(small, "chat");
    expect(read?.entries.length).toBeGreaterThan(50);
    expect(read?.dropped).toBeGreaterThan(1_000);
    for (const text of ["{", "[]", '{"dropped":0,"segments":[],"rows":[[1,2,{"kind":"x"}]]}']) {
      small.setItem("holdpoint-recording other", text);
      expect(readRecording(small, "other")).toBeUndefined();
    }
  });
});

describe("a page that was loaded again", () => {
  it("goes on with new numbers, and says that it was", () => {
    const recorder = continued(record(PAYMENT), 7000, () => 8000);
    const segment = recorder.begin("sse", "POST /stream");
    recorder.payload(segment, delta("again"));
    const { entries } = recorder.current();
    expect(segment).toBe(3);
    expect(entries.map(({ index }) => index)).toEqual(entries.map((_, at) => at));
    expect(entries.at(-2)).toMatchObject({ kind: "mark", mark: { type: "reload" }, at: 7000, segment: 2 });
  });

  it("has one turn where there is one, although its beginning was too long to be kept", () => {
    const start = JSON.stringify({ type: "start", messageId: "m1" });
    const before = new Recorder(() => 1);
    const first = before.begin("sse", "POST /stream");
    before.payload(first, start);
    for (let i = 0; i < 1_500; i++) before.payload(first, delta("x".repeat(2_000)));
    const storage = fakeStorage();
    writeRecording(storage, "chat", before.current());
    const kept = readRecording(storage, "chat");
    expect(kept?.dropped).toBeGreaterThan(0);
    const after = continued(kept ?? before.current(), 2, () => 3);
    const second = after.begin("ai-sdk", "GET /api/chat/c/stream (replay)");
    after.payload(second, start);
    after.payload(second, "[DONE]");
    expect(turnsOf(after.current()).map(({ messageId, isCut }) => [messageId, isCut])).toEqual([["m1", false]]);
  });

  it("has one turn where there is one, although the page was left before the answer began", () => {
    const before = new Recorder(() => 1);
    const first = before.begin("sse", "POST /stream");
    before.request({ label: "POST /stream", text: "{}" }, first);
    before.comment(first, "still here");
    const after = continued(before.current(), 2, () => 3);
    const second = after.begin("ai-sdk", "GET /api/chat/c/stream (replay)");
    after.payload(second, JSON.stringify({ type: "start", messageId: "m1" }));
    const turns = turnsOf(after.current());
    expect(turns.map(({ messageId }) => messageId)).toEqual(["m1"]);
    expect(turns[0]?.recording.entries.map(({ kind }) => kind)).toEqual(["request", "comment", "mark", "chunk"]);
  });

  it("lets no response that was cut off then go on for ever", () => {
    const open = PAYMENT.slice(0, 2);
    const recorder = continued(record(open), 1000, () => 1000);
    const spans = spansOf(recorder.current(), () => false, 60_000);
    expect(spans).toMatchObject([{ lane: "model", from: 0, to: 40, isOpen: false }]);
  });
});

describe("the filter", () => {
  const { entries } = record(PAYMENT);
  const kinds = (change: Partial<typeof NO_FILTER>) =>
    applyFilter(entries, { ...NO_FILTER, ...change }).map((entry) =>
      entry.kind === "chunk" ? entry.chunk.type : entry.kind,
    );

  it("chooses by direction, type and text", () => {
    expect(applyFilter(entries, NO_FILTER)).toBe(entries);
    expect(kinds({ direction: "page" })).toEqual(["mark"]);
    expect(kinds({ type: "tool-approval-request" })).toEqual(["tool-approval-request"]);
    expect(kinds({ text: " PAID: " })).toEqual(["text-delta"]);
    expect(kinds({ type: "[DONE]", direction: "received" })).toEqual(["done", "done"]);
    expect(kinds({ type: "[DONE]", direction: "sent" })).toEqual([]);
    const sent = applyFilter(long(3).current().entries, { ...NO_FILTER, direction: "sent" });
    expect(sent.map(({ kind }) => kind)).toEqual(["request"]);
  });

  it("knows which types there are", () => {
    expect(typesOf(entries)).toContainEqual(["[DONE]", 2]);
    expect(typesOf(entries).reduce((sum, [, count]) => sum + count, 0)).toBe(entries.length);
  });

  it("is copied as one JSON object per line", () => {
    const lines = ndjson(long(2).current().entries).trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { direction: "sent", type: "request", request: { label: "POST /stream", text: '{"id":"c"}' } },
      { direction: "received", type: "text-delta", chunk: { delta: "word 0" }, segment: 1 },
      { direction: "received", chunk: { delta: "word 1" } },
    ]);
  });
});
