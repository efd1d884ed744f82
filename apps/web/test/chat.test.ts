import type { UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { splitBlocks } from "../src/chat/blocks";
import { hasUnsentAnswer, mergeHistory } from "../src/chat/mergeHistory";
import { nextSpeech } from "../src/chat/speech";

describe("splitBlocks", () => {
  it("splits paragraphs and headings", () => {
    expect(splitBlocks("one\n\n# two\n\nthree")).toEqual(["one\n", "# two\n", "three"]);
  });

  it.each([
    "```\na\n\nb\n```",
    "- a\n\n- b",
    "1. a\n\n   more\n\n2. b",
    "| a |\n\n| b |",
  ])("keeps %j together", (text) => {
    expect(splitBlocks(text)).toEqual([text]);
  });

  it("loses nothing", () => {
    const text = "a\n\n\nb\n```\nc\n\nd\n```\n\ne\n";
    expect(splitBlocks(text).join("\n")).toBe(text);
  });
});

describe("nextSpeech", () => {
  it("speaks whole sentences, each once, and the rest at the end", () => {
    expect(nextSpeech("I will pay", 0, false)).toBe("");
    expect(nextSpeech("I will pay. Then I", 0, false)).toBe("I will pay.");
    expect(nextSpeech("I will pay. Then I", 11, false)).toBe("");
    expect(nextSpeech("I will pay. Then I", 11, true)).toBe(" Then I");
    expect(nextSpeech("送金しました。残高", 0, false)).toBe("送金しました。");
  });

  it("does not take the point of a number for an end", () => {
    expect(nextSpeech("It costs 3.50", 0, false)).toBe("");
  });
});

describe("mergeHistory", () => {
  const call = (state: string, extra: object = {}) =>
    ({
      id: "m",
      role: "assistant",
      parts: [{ type: "tool-pay", toolCallId: "c", state, input: {}, approval: { id: "a", ...extra } }],
    }) as UIMessage;

  it("keeps an answer that the server has not seen yet", () => {
    const shown = call("approval-responded", { approved: true });
    expect(mergeHistory([shown], [call("approval-requested")])).toEqual([shown]);
  });

  it("notices an answer that has to be sent, once it waits for no other question", () => {
    const answered = call("approval-responded", { approved: true });
    expect(hasUnsentAnswer([answered], [call("approval-requested")])).toBe(true);
    expect(hasUnsentAnswer([answered], [answered])).toBe(false);
    expect(hasUnsentAnswer([call("approval-requested")], [call("approval-requested")])).toBe(false);
  });

  it("takes an outcome from the server", () => {
    const stored = call("output-denied", { approved: false });
    expect(mergeHistory([call("approval-requested")], [stored])).toEqual([stored]);
  });

  it("keeps the identity of what did not change, and drops what the server no longer has", () => {
    const shown = call("approval-requested");
    const gone: UIMessage = { id: "gone", role: "user", parts: [] };
    const merged = mergeHistory([shown, gone], [call("approval-requested")]);
    expect(merged[0]).toBe(shown);
    expect(merged).toHaveLength(1);
  });
});
