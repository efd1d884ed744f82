import { describe, expect, it } from "vitest";
import { parse, profileOf, serialise } from "../src/inspector/capture";
import { Recorder } from "../src/inspector/recorder";
import { checkable, isWhole, turnsOf } from "../src/inspector/turns";
import { PAYMENT, record } from "./recording";

describe("serialise", () => {
  it("is read back as it was, with times, requests and decisions", () => {
    const recording = record(PAYMENT);
    expect(parse(serialise(recording).text)).toEqual(recording);
  });

  it("keeps the requests, in comments that a checker skips", () => {
    const recorder = new Recorder(() => 5);
    const segment = recorder.begin("sse", "POST /stream");
    recorder.request({ label: "POST /stream", headers: { accept: "*/*" }, text: '{"a":\n"b"}' }, segment);
    recorder.payload(segment, '{"type":"start"}');
    recorder.mark({ type: "reload" });
    const recording = recorder.current();
    const { text } = serialise(recording);
    expect(text.match(/^data: /gm)).toHaveLength(1);
    expect(text.split("\n").filter((line) => line !== "" && !/^(: |data: )/.test(line))).toEqual([]);
    expect(parse(text)).toEqual(recording);
  });

  it("is SSE: every record is one data line and a blank one, everything else a comment", () => {
    const { text } = serialise(record(PAYMENT));
    const records = text.split("\n\n").filter((block) => block.trim() !== "");
    for (const block of records) expect(block).toMatch(/^(: [^\n]*\n?)*(data: [^\n]*)?$/);
    expect(text.endsWith("\n\n") || text.endsWith("\n")).toBe(true);
    expect(text.match(/^data: \[DONE\]$/gm)).toHaveLength(2);
  });

  it("knows which record stands on a line", () => {
    const recording = record(PAYMENT);
    const { text, entryAtLine } = serialise(recording);
    const lines = text.split("\n");
    for (const [line, index] of entryAtLine) {
      const entry = recording.entries[index];
      expect(lines[line - 1]).toBe(`data: ${entry?.kind === "chunk" ? entry.text : "[DONE]"}`);
    }
    expect(entryAtLine.size).toBe(lines.filter((line) => line.startsWith("data:")).length);
  });
});

describe("parse", () => {
  const kinds = (text: string) => parse(text).entries.map(({ kind, segment }) => `${kind}${segment}`);

  it("reads plain SSE, with any line ends, and begins a segment after each [DONE]", () => {
    const text = 'data: {"type":"start"}\r\n\r\ndata: [DONE]\r\n\r\n: ping\n\ndata:{"type":"start"}\n\n';
    expect(kinds(text)).toEqual(["chunk1", "done1", "comment1", "chunk2"]);
  });

  it("reads one chunk a line", () => {
    expect(kinds('{"type":"start"}\n[DONE]\n{"type":"start"}\n')).toEqual(["chunk1", "done1", "chunk2"]);
  });

  it("reads the frames of a transcript and leaves its requests out", () => {
    const text = '{"request":{}}\n{"status":200}\n{"frame":{"type":"start"}}\n{"frame":"data: [DONE]\\n\\n"}\n';
    expect(kinds(text)).toEqual(["chunk1", "done1"]);
  });

  it("reads a recorded flow", () => {
    expect(
      kinds(JSON.stringify({ flow: "x", segments: [[{ type: "start" }], [{ type: "start" }, "[DONE]"]] })),
    ).toEqual(["chunk1", "done1", "chunk2", "done2"]);
  });

  it("keeps what is no chunk, for the checker to complain about", () => {
    expect(kinds("data: {oops\n\n")).toEqual(["broken1"]);
  });

  it("spaces records evenly where the file names no times", () => {
    const times = parse('{"type":"start"}\n{"type":"finish"}\n').entries.map(({ at }) => at);
    expect(times[1]).toBeGreaterThan(times[0] ?? Number.POSITIVE_INFINITY);
  });
});

describe("profileOf", () => {
  it("is what the recording was made in", () => {
    expect(
      profileOf(
        record([
          { at: 0, begin: "live" },
          { at: 1, text: "[DONE]" },
        ]),
      ),
    ).toBe("adk-live");
    expect(
      profileOf(
        record([
          { at: 0, begin: "ai-sdk-ws" },
          { at: 1, text: "[DONE]" },
        ]),
      ),
    ).toBe("ai-sdk");
  });

  it("is guessed from the steps where the file does not say", () => {
    const request = { type: "tool-approval-request", approvalId: "a", toolCallId: "c" };
    const lines = (...chunks: object[]) => chunks.map((chunk) => JSON.stringify(chunk)).join("\n");
    expect(profileOf(parse(lines({ type: "start" }, request)))).toBe("adk-sse");
    expect(profileOf(parse(lines({ type: "start" }, { type: "start-step" }, request)))).toBe("adk-live");
    expect(profileOf(parse(lines({ type: "start" }, { type: "start-step" }, { type: "text-start", id: "t" })))).toBe(
      "ai-sdk",
    );
  });
});

describe("turnsOf", () => {
  it("puts the segments of one message together, and another message apart", () => {
    const other = [
      { at: 6000, begin: "sse" as const },
      { at: 6001, chunk: { type: "start" as const, messageId: "m2" } },
    ];
    const turns = turnsOf(record([...PAYMENT, ...other]));
    expect(turns.map(({ messageId, recording }) => [messageId, recording.segments.length])).toEqual([
      ["m1", 2],
      ["m2", 1],
    ]);
  });

  it("notices a recording that joined in the middle", () => {
    expect(isWhole(record(PAYMENT))).toBe(true);
    expect(isWhole(record(PAYMENT.slice(8)))).toBe(false);
  });
});

describe("a request without an answer", () => {
  it("belongs to the turn before, and is not checked", () => {
    const recorder = new Recorder(() => 6000, record(PAYMENT));
    recorder.request({ label: "POST /api/chat", text: "{}" }, recorder.begin("ai-sdk", "POST /api/chat"));
    const [turn, ...others] = turnsOf(recorder.current());
    expect(others).toEqual([]);
    expect(turn?.recording.entries.at(-1)?.kind).toBe("request");
    expect(checkable(recorder.current()).segments.map(({ number }) => number)).toEqual([1, 2]);
  });
});

describe("checkable", () => {
  const numbers = (recording: Parameters<typeof checkable>[0]) =>
    checkable(recording).segments.map(({ number }) => number);

  it("is everything, where nothing was told twice", () => {
    expect(checkable(record(PAYMENT))).toEqual(record(PAYMENT));
  });

  it("begins a message with its last replay", () => {
    const { entries, segments } = record(PAYMENT);
    const replayed = segments.map((segment) =>
      segment.number === 2 ? { ...segment, label: "GET (replay)" } : segment,
    );
    expect(numbers({ entries, segments: replayed, dropped: 0 })).toEqual([2]);
  });

  it("keeps to the wire of the last turn", () => {
    const other = [
      { at: 6000, begin: "ai-sdk" as const },
      { at: 6001, chunk: { type: "start" as const, messageId: "m2" } },
    ];
    expect(numbers(record([...PAYMENT, ...other]))).toEqual([3]);
  });
});
