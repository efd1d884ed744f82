import { describe, expect, it } from "vitest";
import { splitBlocks } from "../src/chat/blocks";
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
