import type { DecisionProgress } from "holdpoint";
import type { ChatHold, Decision } from "holdpoint/protocol";
import { describe, expect, it } from "vitest";
import type { ToolSpec } from "../src/api/types";
import { type AnyToolPart, callStateOf, progressOf } from "../src/tools/callState";
import { callStatus } from "../src/tools/callStatus";
import { refusalText, timeText } from "../src/tools/texts";

const base = { type: "tool-pay", toolCallId: "c", input: { amount: 5 } } as const;
const part = (rest: object) => ({ ...base, ...rest }) as unknown as AnyToolPart;
const asked = part({ state: "approval-requested", approval: { id: "a" } });
const hold = (rest: Partial<ChatHold> = {}): ChatHold => ({
  toolCallId: "c",
  toolName: "pay",
  input: { amount: 5 },
  kind: "approval",
  state: "waiting",
  approvalId: "a",
  requestedAt: "2026-01-01T00:00:00Z",
  allowed: ["approve", "deny"],
  cut: false,
  ...rest,
});
const progress = (rest: object) =>
  ({ approvalId: "a", kind: "approve", approved: true, attempts: 1, ...rest }) as DecisionProgress;
const decision: Decision = { kind: "approve", by: ["alice"], at: "2026-01-01T00:00:01Z" };
const pay = { name: "pay", execution: "server", approval: "always" } as ToolSpec;
const label = (facts: Parameters<typeof callStateOf>[0]) => callStatus(callStateOf(facts)).label;

describe("what a card says follows the record", () => {
  it("says what may be done, by the record and by the inbox", () => {
    const all: ChatHold["allowed"] = ["approve", "deny", "edit", "answer"];
    expect(callStateOf({ part: asked })).toMatchObject({ allowed: ["approve", "deny"] });
    expect(callStateOf({ part: asked, hold: hold({ allowed: all }) })).toMatchObject({ allowed: all });
    expect(callStateOf({ allowed: all })).toMatchObject({ kind: "approval-requested", allowed: all });
    const sending = progress({ kind: "edit", state: "sending" });
    expect(callStateOf({ allowed: all, progress: sending })).toMatchObject({ kind: "sending", sent: "edit" });
  });

  it("runs after an edit, and does not after an answer in the tool's place", () => {
    const inForce = (kind: Decision["kind"]) => progress({ kind, state: "in-force", ignored: false });
    expect(label({ part: asked, progress: inForce("edit") })).toBe("Running");
    expect(label({ part: asked, progress: inForce("answer") })).toBe("Finishing");
    const answered = hold({ decision: { ...decision, kind: "answer" } });
    expect(label({ part: asked, hold: answered })).toBe("Finishing");
    const outcome = { cause: "decision", at: "2026-01-01T00:00:02Z", output: "by hand" } as const;
    expect(label({ part: asked, hold: { ...answered, state: "settled", outcome } })).toBe("Answered");
  });

  it("reads the kind of a decision from the stored part", () => {
    const settled = (metadata: object, approved = true) =>
      callStateOf({
        part: part({
          state: approved ? "output-available" : "output-denied",
          output: 1,
          approval: { id: "a", approved },
          callProviderMetadata: { holdpoint: { decidedBy: ["bob"], decidedAt: "2026-01-01T00:00:01Z", ...metadata } },
        }),
      });
    expect(settled({ cause: "ran", edited: true })).toMatchObject({ decision: { kind: "edit" } });
    expect(settled({ cause: "ran", edited: false })).toMatchObject({ decision: { kind: "approve" } });
    expect(settled({ cause: "decision", edited: false })).toMatchObject({ decision: { kind: "answer" } });
    expect(settled({ cause: "decision", edited: false }, false)).toMatchObject({ decision: { kind: "deny" } });
  });

  it("waits while the approval request is open", () => {
    expect(label({ part: asked })).toBe("Waiting for you");
    expect(label({ part: asked, hold: hold() })).toBe("Waiting for you");
    expect(label({ part: asked, hold: hold({ allowed: [] }) })).toBe("Waiting for approval");
    expect(label({ hold: hold() })).toBe("Waiting for you");
  });

  it("is sending, then trying again, and never running because of a click", () => {
    expect(label({ part: asked, hold: hold(), progress: progress({ state: "sending" }) })).toBe("Sending");
    const error = new Error("away");
    expect(label({ part: asked, hold: hold(), progress: progress({ state: "retrying", error }) })).toBe(
      "Not confirmed",
    );
    expect(label({ part: asked, hold: hold(), progress: progress({ state: "refused", error }) })).toBe(
      "Waiting for you",
    );
  });

  it("runs once the decision is in force", () => {
    expect(label({ part: asked, hold: hold(), progress: progress({ state: "in-force", ignored: false }) })).toBe(
      "Running",
    );
    expect(label({ part: asked, hold: hold({ state: "running", decision }) })).toBe("Running");
    const tool = { ...pay, execution: "frontend" } as ToolSpec;
    expect(label({ part: asked, hold: hold({ decision }), tool })).toBe("In the browser");
    const denied = progress({ kind: "deny", approved: false, state: "in-force", ignored: false });
    expect(label({ part: asked, hold: hold(), progress: denied })).toBe("Finishing");
  });

  it("runs while the tool reports its progress, and is done with the outcome", () => {
    const reported = part({ state: "output-available", output: "1 of 2", preliminary: true });
    expect(label({ part: reported, tool: pay })).toBe("Running");
    expect(label({ part: reported, hold: hold({ state: "running", decision }), tool: pay })).toBe("Running");
    expect(progressOf(reported)).toBe("1 of 2");
    const done = part({ state: "output-available", output: "2 of 2" });
    expect(label({ part: done, tool: pay })).toBe("Done");
    expect(progressOf(done)).toBeUndefined();
  });

  it("goes over a decision of this page that is still being sent", () => {
    const settled = hold({ state: "settled", outcome: { cause: "superseded", at: "2026-01-01T00:00:02Z" } });
    expect(label({ part: asked, hold: settled, progress: progress({ state: "sending" }) })).toBe("Withdrawn");
  });

  it.each([
    ["decision", "Denied"],
    ["expired", "Expired"],
    ["stopped", "Stopped"],
    ["superseded", "Withdrawn"],
    ["interrupted", "Outcome unknown"],
    ["refused", "Not run"],
    ["ran", "Failed"],
    ["result", "Failed"],
  ] as const)("names the cause %s, whatever the words of the error", (cause, said) => {
    const outcome = { cause, at: "2026-01-01T00:00:02Z", errorText: "User denied: timed out, superseded, stopped" };
    expect(label({ part: asked, hold: hold({ state: "settled", outcome }) })).toBe(said);
    const callProviderMetadata = { holdpoint: { cause, decidedBy: [], edited: false } };
    const stored = part({ state: "output-error", errorText: outcome.errorText, callProviderMetadata });
    expect(label({ part: stored })).toBe(said);
  });

  it("names a call that a decision settled after the decision", () => {
    const settledBy = (kind: Decision["kind"]) =>
      hold({
        state: "settled",
        decision: { ...decision, kind },
        outcome: { cause: "decision", at: "2026-01-01T00:00:02Z" },
      });
    expect(label({ hold: settledBy("approve") })).toBe("Approved");
    expect(label({ hold: settledBy("deny") })).toBe("Denied");
  });

  it("does not guess why a call ended", () => {
    const error = part({ state: "output-error", errorText: "User denied the tool call" });
    expect(label({ part: error, hold: hold() })).toBe("Finishing");
    expect(label({ part: part({ state: "output-denied", approval: { id: "a", approved: false } }) })).toBe("Not run");
    expect(label({ part: error })).toBe("Failed");
  });

  it("tells who decided, from the record or from the stored message", () => {
    const outcome = { cause: "ran", at: "2026-01-01T00:00:02Z", output: { ok: 1 } } as const;
    expect(callStateOf({ hold: hold({ state: "settled", outcome, decision }) })).toMatchObject({
      decision: { by: ["alice"] },
      result: { kind: "output", output: { ok: 1 } },
    });
    const holdpoint = { cause: "decision", decidedBy: ["bob"], decidedAt: decision.at, edited: false };
    const stored = part({
      state: "output-denied",
      approval: { id: "a", approved: false, reason: "no" },
      callProviderMetadata: { holdpoint },
    });
    expect(callStateOf({ part: stored })).toMatchObject({ decision: { kind: "deny", by: ["bob"], reason: "no" } });
  });

  it("does not call a page done that nobody saw", () => {
    const page = (rest: object) => {
      const output = { toolCallId: "c", ...rest };
      return label({ hold: hold({ state: "settled", outcome: { cause: "result", at: "", output } }) });
    };
    expect(page({ status: "success", output: { url: "u", viewKey: "v" } })).toBe("Opened, not confirmed");
    expect(page({ status: "success", output: { url: "u", viewKey: "v", state: "unconfirmed" } })).toBe(
      "Opened, not confirmed",
    );
    expect(page({ status: "success", output: { url: "u", viewKey: "v", state: "loaded" } })).toBe("Opened");
    expect(page({ status: "failed", errorText: "away" })).toBe("Failed");
    expect(page({ status: "timeout" })).toBe("Expired");
  });

  it("has an approval request on its way for a call that must be approved", () => {
    expect(label({ part: part({ state: "input-available" }), tool: pay })).toBe("Preparing");
    expect(label({ part: part({ state: "input-available" }), tool: { ...pay, approval: "never" } })).toBe("Running");
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
