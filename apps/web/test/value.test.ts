import { describe, expect, it } from "vitest";
import { wrapRuns } from "../src/text/wrap";
import { jsonLinesOf } from "../src/value/JsonLines";
import { jsonText, tokensOf } from "../src/value/json";
import { linesOf } from "../src/value/lines";

const paths = (value: unknown) => linesOf(value).map(({ path, content }) => `${path}:${content.kind}`);

describe("lines of a value", () => {
  it("are its fields, nested ones included", () => {
    expect(paths({ a: 1, b: { c: "x".repeat(70), d: [true] } })).toEqual([
      "a:scalar",
      "b:group",
      "b.c:text",
      "b.d:inline",
    ]);
    expect(paths({})).toEqual([]);
    expect(paths("text")).toEqual([":text"]);
    expect(paths(null)).toEqual([":scalar"]);
  });

  it("are the lines of a string, and pieces of a long one", () => {
    expect(linesOf({ note: "one\ntwo\nthree" })).toHaveLength(3);
    expect(linesOf({ note: "one\n" })).toHaveLength(1);
    expect(linesOf({ note: "x".repeat(1000) })).toHaveLength(7);
    expect(linesOf({ note: "" })).toMatchObject([{ content: { kind: "text", runs: [], isQuoted: true } }]);
  });

  it("are the rows of a list of objects", () => {
    const rows = linesOf({ items: Array.from({ length: 50 }, (_, id) => ({ id, name: `n${id}` })) });
    expect(rows).toHaveLength(51);
    expect(rows[2]?.content).toMatchObject({ kind: "record", cells: [1, "n1"], place: 2 });
    const mixed = linesOf({ items: [{ id: 1 }, { name: "x" }, { deep: { er: "y".repeat(70) } }] });
    expect(mixed.map(({ content }) => content.kind)).not.toContain("record");
  });

  it("quote a string that could be something else", () => {
    const quoted = (value: unknown) => linesOf({ value })[0]?.content;
    for (const text of ["50", "true", "null", "-1.5e3", " ", ""])
      expect(quoted(text)).toMatchObject({ isQuoted: true });
    for (const text of ["Hanako", "50 USD"]) expect(quoted(text)).toMatchObject({ isQuoted: false });
  });

  it("spell keys that look like others, or like what the schema has", () => {
    const [first, second] = linesOf({ amount: 1, "\u0430mount": 2 });
    expect([first?.name?.isSpelled, second?.name?.isSpelled]).toEqual([true, true]);
    const schema = { properties: { cape: {} } };
    expect(linesOf({ "\u0441\u0430\u0440\u0435": 1 }, schema)[0]?.name?.isSpelled).toBe(true);
  });

  it("count everything in a big value, quickly", () => {
    const value = { items: Array.from({ length: 20_000 }, (_, id) => [id, "x".repeat(70)]) };
    const start = performance.now();
    expect(linesOf(value).length).toBe(60_001);
    expect(performance.now() - start).toBeLessThan(2000);
  });
});

describe("wrapping", () => {
  it("loses nothing, and cuts no character in two", () => {
    for (const text of ["a b ".repeat(300), "👩‍👩‍👧".repeat(100), "e\u0301".repeat(400), "𝒳".repeat(500)]) {
      const lines = wrapRuns([{ kind: "text", text }]);
      const whole = lines.flat().map((run) => (run.kind === "text" ? run.text : ""));
      expect(whole.join("")).toBe(text);
      for (const piece of whole) expect(piece).not.toMatch(/^(\u0301|\u200D|[\uDC00-\uDFFF])|[\uD800-\uDBFF]$/);
      expect(Math.max(...whole.map(({ length }) => length))).toBeLessThanOrEqual(161);
    }
  });
});

describe("JSON", () => {
  it("is the same value, with nothing hidden in it", () => {
    const value = { "a\u202eb": "x\u200by\n\u{e0041}", list: [1, "\ud800", "👩‍👩‍👧", "\u00a0"], é: null };
    const text = jsonText(value);
    expect(text).toContain("\\u202e");
    expect(text).toContain("\\udb40\\udc41");
    expect(text).toContain("👩‍👩‍👧");
    expect(JSON.parse(text)).toEqual(value);
    expect(text).not.toMatch(/[\u200b\u202e\u00a0]/u);
  });

  it("keeps each string apart, also one with quotes in it", () => {
    expect(tokensOf('"a\\"b": "c\\\\",')).toEqual(['"a\\"b"', ": ", '"c\\\\"', ","]);
    const lines = jsonLinesOf(jsonText({ a: { b: "x".repeat(400) } }));
    expect(lines.map(({ indent }) => indent)).toEqual([0, 1, 2, 2, 2, 1, 0]);
  });
});
