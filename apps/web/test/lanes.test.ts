import { describe, expect, it } from "vitest";
import { duration, scaleOf, spansOf, totals } from "../src/inspector/lanes";
import { PAYMENT, record } from "./recording";

const onServer = () => false;
const inBrowser = () => true;

function brief(...args: Parameters<typeof spansOf>) {
  return spansOf(...args).map(({ lane, from, to, isOpen }) => [lane, from, to, ...(isOpen ? ["open"] : [])]);
}

describe("spansOf", () => {
  it("shows the person between two stretches of the model, and the tool after the approval", () => {
    expect(brief(record(PAYMENT), onServer, 9999)).toEqual([
      ["model", 0, 100],
      ["human", 100, 5100],
      ["server", 5100, 5150],
      ["model", 5150, 5300],
    ]);
  });

  it("lets the approval request grow while nobody has decided", () => {
    expect(brief(record(PAYMENT.slice(0, 7)), onServer, 800)).toEqual([
      ["model", 0, 100],
      ["human", 100, 800, "open"],
    ]);
  });

  it("runs nothing after a denial", () => {
    const steps = PAYMENT.map((step) => ("decided" in step ? { ...step, approved: false } : step));
    expect(brief(record(steps), onServer, 9999)).not.toContainEqual(expect.arrayContaining(["server"]));
  });

  it("shows a browser's call in the browser's lane, from when it began", () => {
    const steps = [...PAYMENT.slice(0, 10), { at: 5120, browser: "c1" }, ...PAYMENT.slice(10)];
    expect(brief(record(steps), inBrowser, 9999)).toContainEqual(["browser", 5120, 5150]);
  });

  it("counts an approval request that was decided elsewhere until its outcome", () => {
    const steps = PAYMENT.filter((step) => !("decided" in step));
    const spans = brief(record(steps), onServer, 9999);
    expect(spans).toContainEqual(["human", 100, 5150]);
    expect(spans).not.toContainEqual(expect.arrayContaining(["server"]));
  });

  it("does not show the model at work while a call without approval runs", () => {
    const steps = PAYMENT.filter((step) => !("chunk" in step && step.chunk.type === "tool-approval-request")).slice(
      0,
      5,
    );
    expect(brief(record(steps), onServer, 700)).toEqual([
      ["model", 0, 100],
      ["server", 100, 700, "open"],
    ]);
  });

  it("shows the person beside the tool that asks something while it runs", () => {
    const input = { message: "?", schema: {}, from: "pay" };
    const steps = [
      { at: 0, begin: "sse" as const },
      { at: 40, chunk: { type: "start" as const, messageId: "m1" } },
      { at: 100, chunk: { type: "tool-input-available" as const, toolCallId: "c1", toolName: "pay", input: {} } },
      { at: 150, chunk: { type: "tool-input-available" as const, toolCallId: "c2", toolName: "ask_user", input } },
      { at: 900, chunk: { type: "tool-output-available" as const, toolCallId: "c2", output: { action: "decline" } } },
    ];
    expect(brief(record(steps), onServer, 950)).toEqual([
      ["model", 0, 100],
      ["server", 100, 950, "open"],
      ["human", 150, 900],
    ]);
  });
});

describe("totals", () => {
  it("counts what overlaps once", () => {
    const span = { lane: "human" as const, label: "", isOpen: false };
    expect(
      totals([
        { ...span, from: 0, to: 10 },
        { ...span, from: 5, to: 20 },
        { ...span, from: 30, to: 31 },
      ]).human,
    ).toBe(21);
  });
});

describe("scaleOf", () => {
  it("keeps the order, fills the width, and gives short stretches room beside long ones", () => {
    const spans = spansOf(record(PAYMENT), onServer, 9999);
    const place = scaleOf(spans);
    const places = [0, 100, 5100, 5150, 5300].map(place);
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(places.at(0)).toBe(0);
    expect(places.at(-1)).toBe(1);
    expect(place(5150) - place(5100)).toBeGreaterThan(0.05);
  });
});

describe("duration", () => {
  it.each([
    [840, "840 ms"],
    [12_345, "12.3 s"],
    [245_000, "4 min 05 s"],
  ])("says %i as %s", (ms, text) => expect(duration(ms)).toBe(text));
});
