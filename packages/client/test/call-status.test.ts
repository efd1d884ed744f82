import { describe, expect, it } from "vitest";
import { type CallContext, callStatus, type DecisionProgress, HoldpointError } from "../src/index.js";
import type { ApprovalRecord, ChatHold, Decision, PendingApproval, ToolSpec } from "../src/protocol.js";

const base = { type: "tool-pay", toolCallId: "c", input: { amount: 5 } } as const;
const part = (rest: object) => ({ ...base, ...rest }) as { type: string; toolCallId: string };
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
type Facts = CallContext & { part?: Parameters<typeof callStatus>[0] };
const statusOf = ({ part, ...context }: Facts) => callStatus(part, context);
const label = (facts: Facts) => statusOf(facts).label;
const request = (rest: Partial<PendingApproval> = {}) =>
  ({ approvalId: "a", allowed: ["approve", "deny"], ...rest }) as PendingApproval;

describe("the status of a call follows the record", () => {
  it("says what may be done, by the record and by the inbox", () => {
    const all: ChatHold["allowed"] = ["approve", "deny", "edit", "answer"];
    expect(statusOf({ part: asked })).toMatchObject({ allowed: ["approve", "deny"] });
    expect(statusOf({ part: asked, hold: hold({ allowed: all }) })).toMatchObject({ allowed: all });
    expect(statusOf({ request: request({ allowed: all }) })).toMatchObject({
      kind: "approval-requested",
      allowed: all,
    });
    const sending = progress({ kind: "edit", state: "sending" });
    expect(statusOf({ request: request({ allowed: all }), decision: sending })).toMatchObject({
      kind: "sending",
      sent: "edit",
    });
  });

  it("runs after an edit, and does not after an answer in the tool's place", () => {
    const inForce = (kind: Decision["kind"]) => progress({ kind, state: "in-force", ignored: false });
    expect(label({ part: asked, decision: inForce("edit") })).toBe("Running");
    expect(label({ part: asked, decision: inForce("answer") })).toBe("Finishing");
    const answered = hold({ decision: { ...decision, kind: "answer" } });
    expect(label({ part: asked, hold: answered })).toBe("Finishing");
    const outcome = { cause: "decision", at: "2026-01-01T00:00:02Z", output: "by hand" } as const;
    expect(label({ part: asked, hold: { ...answered, state: "settled", outcome } })).toBe("Answered");
  });

  it("reads the kind of a decision from the stored part", () => {
    const settled = (metadata: object, approved = true) =>
      statusOf({
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
    expect(label({ part: asked, hold: hold(), decision: progress({ state: "sending" }) })).toBe("Sending");
    const error = new HoldpointError("unreachable", "away");
    expect(label({ part: asked, hold: hold(), decision: progress({ state: "retrying", error }) })).toBe(
      "Not confirmed",
    );
    expect(label({ part: asked, hold: hold(), decision: progress({ state: "refused", error }) })).toBe(
      "Waiting for you",
    );
  });

  it("runs once the decision is in force", () => {
    expect(label({ part: asked, hold: hold(), decision: progress({ state: "in-force", ignored: false }) })).toBe(
      "Running",
    );
    expect(label({ part: asked, hold: hold({ state: "running", decision }) })).toBe("Running");
    const tool = { ...pay, execution: "frontend" } as ToolSpec;
    expect(label({ part: asked, hold: hold({ decision }), tool })).toBe("In the browser");
    const denied = progress({ kind: "deny", approved: false, state: "in-force", ignored: false });
    expect(label({ part: asked, hold: hold(), decision: denied })).toBe("Finishing");
  });

  it("runs while the tool reports its progress, and is done with the outcome", () => {
    const reported = part({ state: "output-available", output: "1 of 2", preliminary: true });
    expect(label({ part: reported, tool: pay })).toBe("Running");
    expect(label({ part: reported, hold: hold({ state: "running", decision }), tool: pay })).toBe("Running");
    expect(statusOf({ part: reported, tool: pay })).toMatchObject({ progress: "1 of 2" });
    const done = part({ state: "output-available", output: "2 of 2" });
    expect(label({ part: done, tool: pay })).toBe("Done");
  });

  it("goes over a decision of this page that is still being sent", () => {
    const settled = hold({ state: "settled", outcome: { cause: "superseded", at: "2026-01-01T00:00:02Z" } });
    expect(label({ part: asked, hold: settled, decision: progress({ state: "sending" }) })).toBe("Withdrawn");
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
    expect(label({ part: part({ state: "output-denied", approval: { id: "a" } }) })).toBe("Not run");
    // This client itself has denied it.
    expect(label({ part: part({ state: "output-denied", approval: { id: "a", approved: false } }) })).toBe("Denied");
    expect(label({ part: error })).toBe("Failed");
  });

  it("tells who decided, from the record or from the stored message", () => {
    const outcome = { cause: "ran", at: "2026-01-01T00:00:02Z", output: { ok: 1 } } as const;
    expect(statusOf({ hold: hold({ state: "settled", outcome, decision }) })).toMatchObject({
      decision: { by: ["alice"] },
      result: { kind: "output", output: { ok: 1 } },
    });
    const holdpoint = { cause: "decision", decidedBy: ["bob"], decidedAt: decision.at, edited: false };
    const stored = part({
      state: "output-denied",
      approval: { id: "a", approved: false, reason: "no" },
      callProviderMetadata: { holdpoint },
    });
    expect(statusOf({ part: stored })).toMatchObject({
      decision: { kind: "deny", by: ["bob"], reason: "no" },
      text: "Denied by bob: no. It did not run.",
    });
  });

  it("reads the report of a browser, and an output that says it was not done", () => {
    const reported = (output: object) =>
      statusOf({ hold: hold({ state: "settled", outcome: { cause: "result", at: "", output } }) });
    expect(reported({ toolCallId: "c", status: "success", output: {} })).toMatchObject({ outcome: "done" });
    expect(reported({ toolCallId: "c", status: "failed", errorText: "away" })).toMatchObject({
      outcome: "failed",
      label: "Failed",
      text: "away",
    });
    expect(reported({ toolCallId: "c", status: "timeout" })).toMatchObject({
      outcome: "expired",
      text: "No browser answered in time.",
    });
    expect(reported({ success: false })).toMatchObject({ outcome: "not-done", label: "Not done" });
    expect(reported({ status: "failed" })).toMatchObject({ outcome: "done" });
  });

  it("has an approval request on its way for a call that must be approved", () => {
    expect(label({ part: part({ state: "input-available" }), tool: pay })).toBe("Preparing");
    expect(label({ part: part({ state: "input-available" }), tool: { ...pay, approval: "never" } })).toBe("Running");
  });
});

describe("what else is known", () => {
  it("knows nothing without a part and a record", () => {
    expect(callStatus(undefined)).toMatchObject({ kind: "preparing", trouble: undefined });
    expect(callStatus({ type: "text", toolCallId: "c" })).toMatchObject({ kind: "preparing" });
  });

  it("counts the votes, and says that this user waits for others", () => {
    const votes = { by: ["ann"], quorum: 2 };
    expect(statusOf({ hold: hold({ votes }) })).toMatchObject({
      label: "Waiting for you",
      text: "1 of 2 have approved: ann.",
      hasVoted: false,
    });
    expect(statusOf({ request: request({ votes }), subject: "ann" })).toMatchObject({
      label: "Waiting for others",
      hasVoted: true,
    });
    // The record has not been read since.
    const voted = progress({ state: "voted", votes: 1, quorum: 2, ignored: false });
    expect(statusOf({ part: asked, hold: hold(), decision: voted })).toMatchObject({
      label: "Waiting for others",
      text: "1 of 2 have approved.",
      votes: { quorum: 2 },
    });
  });

  it("reads the record of an approval request", () => {
    const approval = { ...request(), toolCallId: "c", toolName: "pay", input: { amount: 5 }, chatId: "c1" };
    const record = { approval, state: "running", decision, editedInput: { amount: 4 } } as unknown as ApprovalRecord;
    expect(statusOf({ record, tool: pay })).toMatchObject({ kind: "running", decision: { by: ["alice"] } });
    const open = { approval, state: "waiting" } as unknown as ApprovalRecord;
    expect(statusOf({ record: open })).toMatchObject({ kind: "approval-requested", approvalId: "a" });
  });

  it("says that a grant approved the call", () => {
    const holdpoint = { cause: "ran", decidedBy: ["bob"], decidedAt: decision.at, grant: "g1", edited: false };
    const stored = part({ state: "output-available", output: 1, callProviderMetadata: { holdpoint } });
    expect(statusOf({ part: stored })).toMatchObject({ decision: { kind: "approve", by: ["bob"], grant: "g1" } });
  });

  it("believes the application that a newer message has replaced the call, but for one that has ended", () => {
    expect(statusOf({ part: asked, isSuperseded: true })).toMatchObject({ outcome: "superseded", label: "Withdrawn" });
    const done = part({ state: "output-available", output: 1 });
    expect(statusOf({ part: done, isSuperseded: true })).toMatchObject({ outcome: "done" });
  });
});

describe("what went wrong", () => {
  const refused = (kind: Decision["kind"], status?: number) =>
    progress({ kind, state: "refused", error: new HoldpointError("http-error", "no", { status }) });

  it.each([
    ["approve", 409, /^Your approval was not accepted: another decision was made first/],
    ["deny", 410, /^Your denial came too late/],
    ["edit", 422, /^Your changed input was not accepted: it does not fit/],
    ["answer", 404, /^Your answer was not accepted: the server no longer has/],
    ["approve", 401, /API key/],
    ["approve", 403, /you may not decide this/],
    ["approve", undefined, /Decide again/],
  ] as const)("says what a refusal means: %s, %s", (kind, status, words) => {
    const said = statusOf({ part: asked, hold: hold(), decision: refused(kind, status) });
    expect(said).toMatchObject({ kind: "approval-requested", trouble: { kind: "refused" } });
    expect(said.text).toMatch(words);
    expect(said.trouble?.text).toBe(said.text);
  });

  it("says how the call ended, and beside it that the decision was refused", () => {
    const outcome = { cause: "expired", at: "2026-01-01T00:00:02Z" } as const;
    const said = statusOf({ hold: hold({ state: "settled", outcome }), decision: refused("approve", 410) });
    expect(said).toMatchObject({ label: "Expired", text: "Nobody answered in time.", trouble: { kind: "refused" } });
  });

  it("says that a decision is not confirmed", () => {
    const error = new HoldpointError("unreachable", "away");
    const said = statusOf({ part: asked, decision: progress({ kind: "deny", state: "retrying", error }) });
    expect(said).toMatchObject({ label: "Not confirmed", trouble: { kind: "unconfirmed", error } });
    expect(said.text).toContain("not known whether your denial has arrived");
  });

  it("says that a result did not reach the server, until the call has ended", () => {
    const run = { toolCallId: "c", toolName: "pay", input: {}, state: "failed", error: new Error("lost") } as const;
    const tool = { ...pay, execution: "frontend" } as ToolSpec;
    expect(statusOf({ hold: hold({ decision }), tool, run })).toMatchObject({
      label: "In the browser",
      text: "lost",
      trouble: { kind: "undelivered" },
    });
    const done = part({ state: "output-available", output: 1 });
    expect(statusOf({ part: done, tool, run }).trouble).toBeUndefined();
  });
});
