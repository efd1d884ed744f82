import { describe, expect, it } from "vitest";
import { confusable } from "../src/text/lookalikes";
import { runsOf, visible } from "../src/text/runs";

const plain = (text: string) => [{ kind: "text", text }];

describe("what nobody would see", () => {
  const HOSTILE = [
    0x00, 0x07, 0x0d, 0x1b, 0x7f, 0x85, 0xa0, 0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x1680, 0x17b4, 0x180e, 0x2000,
    0x200a, 0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x202f, 0x205f, 0x2060, 0x2064,
    0x2066, 0x2069, 0x206f, 0x2800, 0x3000, 0x3164, 0xe000, 0xfe00, 0xfe0f, 0xfeff, 0xffa0, 0xfff9, 0xfffc, 0xffff,
    0x1d159, 0x1d173, 0xe0001, 0xe0041, 0xe007f, 0xe0100, 0xf0000, 0xd800, 0xdfff,
  ];

  it.each(HOSTILE)("U+%s is an escape, in data and in prose", (code) => {
    const character = code >= 0xd800 && code <= 0xdfff ? String.fromCharCode(code) : String.fromCodePoint(code);
    const escaped = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
    for (const reading of ["data", "prose"] as const) {
      const runs = runsOf(`a${character}b`, reading);
      expect(runs).toMatchObject([{ text: "a" }, { kind: "hidden", code: escaped }, { text: "b" }]);
    }
    expect(visible(`a${character}b`)).toBe(`a[${escaped}]b`);
  });

  it("is found at the edges and in rows", () => {
    expect(runsOf("\u202e\u202e", "data").map(({ kind }) => kind)).toEqual(["hidden", "hidden"]);
    expect(runsOf("", "data")).toEqual([]);
  });

  it("is a mark without its letter, or one too many on it", () => {
    expect(runsOf("\u0301a", "data")[0]).toMatchObject({ kind: "hidden", code: "U+0301" });
    expect(runsOf(`a${"\u0301".repeat(6)}`, "data").filter(({ kind }) => kind === "hidden")).toHaveLength(2);
  });
});

describe("what can be seen stays", () => {
  it.each([
    "Hanako, 50 USD (é à ñ) — “ok”",
    "支払い　お願いします",
    "مرحبا ١٢٣",
    "שלום",
    "हिन्दी",
    "👩‍👩‍👧 ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 👍🏽 🇯🇵 1️⃣ ☺︎",
    "Москва и Волга",
    "5 μm at 3 kΩ",
  ])("%s", (text) => {
    expect(runsOf(text, "data")).toEqual(plain(text));
    expect(runsOf(text, "prose")).toEqual(plain(text));
  });

  it("a joiner outside of an emoji does not", () => {
    expect(runsOf("pay\u200dpal", "data")[1]).toMatchObject({ code: "U+200D" });
    expect(runsOf("a\ufe0f", "data")[1]).toMatchObject({ code: "U+FE0F" });
  });
});

describe("spaces", () => {
  it("are marks in data and themselves in prose", () => {
    expect(runsOf("a\n\tb", "data").map(({ kind }) => kind)).toEqual(["text", "space", "space", "text"]);
    expect(runsOf("a\n\tb", "prose")).toEqual(plain("a\n\tb"));
    expect(runsOf(" a ", "data")).toMatchObject([{ name: "space" }, { text: "a" }, { name: "space" }]);
    expect(runsOf("   ", "data")).toMatchObject([{ kind: "space", name: "3 spaces" }]);
    expect(visible("two\nlines ")).toBe("two ↵ lines");
  });
});

describe("letters that look like others", () => {
  it("are named in a word of ASCII letters", () => {
    expect(runsOf("\u0430mount", "data")[0]).toEqual({ kind: "lookalike", text: "\u0430", code: "U+0430" });
    expect(runsOf("pａypal.com", "data")).toMatchObject([{ text: "p" }, { code: "U+FF41" }, { text: "ypal.com" }]);
    expect(visible("p\u0430y")).toBe("p\u0430[U+0430]y");
  });

  it("make two names confusable", () => {
    expect(confusable(["amount", "\u0430mount", "note"])).toEqual(new Set(["amount", "\u0430mount"]));
    expect(confusable(["e\u0301t\u00e9", "\u00e9t\u00e9"]).size).toBe(2);
    expect(confusable(["amount", "amount "]).size).toBe(2);
    expect(confusable(["Id", "ld"]).size).toBe(2);
    expect(confusable(["a\u200bb", "ab"]).size).toBe(2);
    expect(confusable(["\u0441\u0430\u0440\u0435"], ["cape"]).size).toBe(1);
    expect(confusable(["amount", "recipient"], ["amount"]).size).toBe(0);
  });
});
