import { describe, expect, it } from "vitest";
import { remaining } from "../src/tools/countdown";

const END = "2026-01-01T00:05:00.000Z";
const leaving = (ms: number) => Date.parse(END) - ms;

describe("remaining", () => {
  it.each([
    [299_001, "5:00"],
    [298_999, "4:59"],
    [7_000, "0:07"],
    [1, "0:01"],
    [3_600_000, "1:00:00"],
    [3_725_000, "1:02:05"],
  ])("says %i ms as %s", (ms, text) => {
    expect(remaining(END, leaving(ms))).toMatchObject({ text, isOver: false });
  });

  it("is urgent in the last half minute, and over at the end", () => {
    expect(remaining(END, leaving(30_001))?.isUrgent).toBe(false);
    expect(remaining(END, leaving(30_000))?.isUrgent).toBe(true);
    expect(remaining(END, leaving(0))?.isOver).toBe(true);
    expect(remaining(END, leaving(-5_000))).toMatchObject({ ms: 0, text: "0:00", isOver: true });
  });

  it("has nothing to say about what is no time", () => {
    expect(remaining("soon", 0)).toBeUndefined();
  });
});
