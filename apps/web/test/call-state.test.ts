import { type CallStatus, callStatus } from "holdpoint";
import type { ChatHold } from "holdpoint/protocol";
import { describe, expect, it } from "vitest";
import { cardLabel, endingOf, noteOf } from "../src/tools/callStatus";
import { refusalText, timeText } from "../src/tools/texts";

const settled = (outcome: Partial<ChatHold["outcome"]>): CallStatus =>
  callStatus(undefined, {
    hold: {
      ...{ toolCallId: "c", toolName: "pay", input: {}, kind: "approval", state: "settled", cut: false },
      ...{ requestedAt: "2026-01-01T00:00:00Z", allowed: [], outcome },
    } as ChatHold,
  });

describe("what a card says", () => {
  it("is what the package says", () => {
    const state = settled({ cause: "interrupted", at: "" });
    expect(cardLabel(state)).toEqual({ label: "Outcome unknown", tone: "bad" });
    expect(endingOf(state)).toMatch(/Whether it was carried out is not known/);
    expect(endingOf(settled({ cause: "ran", at: "", output: 1 }))).toBeUndefined();
  });

  it("does not call a page done that nobody saw", () => {
    const page = (rest: object) => settled({ cause: "result", at: "", output: { toolCallId: "c", ...rest } });
    const opened = (output: object) => page({ status: "success", output: { url: "u", viewKey: "v", ...output } });
    expect(cardLabel(opened({})).label).toBe("Opened, not confirmed");
    expect(cardLabel(opened({ state: "unconfirmed" })).label).toBe("Opened, not confirmed");
    expect(noteOf(opened({}))).toContain("does not report");
    expect(cardLabel(opened({ state: "loaded" })).label).toBe("Opened");
    expect(cardLabel(page({ status: "failed", errorText: "away" })).label).toBe("Failed");
    expect(noteOf(page({ status: "failed", errorText: "away" }))).toBe("away");
    expect(cardLabel(page({ status: "timeout" })).label).toBe("Expired");
    expect(noteOf(page({ status: "timeout" }))).toBe("No browser answered in time.");
  });

  it("tells a request whose chat was deleted from one that others decide", () => {
    expect(cardLabel({ kind: "gone", isForeign: false }).label).toBe("Deleted");
    expect(cardLabel({ kind: "gone", isForeign: true }).label).toBe("Ended");
  });
});

describe("words", () => {
  it("say what a refusal means", () => {
    expect(refusalText("approve", 409)).toContain("another decision was made first");
    expect(refusalText("deny", 410)).toMatch(/^Your denial came too late/);
    expect(refusalText("approve", undefined)).toContain("Decide again");
  });

  it("name the day where it is another one", () => {
    const now = new Date("2026-03-01T12:00:00");
    expect(timeText("2026-03-01T10:11:12", now)).toMatch(/^10:11:12/);
    expect(timeText("2026-02-27T10:11:12", now)).toContain("Feb");
    expect(timeText("no time", now)).toBe("no time");
  });
});
