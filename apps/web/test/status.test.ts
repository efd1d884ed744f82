import type { ToolStatus } from "holdpoint/protocol";
import { describe, expect, it } from "vitest";
import { approvalOf, approversOf, decisionsOf, durationOf } from "../src/status/policy";

const tool: ToolStatus = {
  name: "pay",
  execution: "server",
  approval: "always",
  approvalTimeoutSec: 300,
  decisions: ["approve", "deny", "edit", "answer"],
  approvers: { by: ["self"] },
};

describe("the policy of a tool in words", () => {
  it("says when it asks", () => {
    expect(approvalOf(tool)).toEqual({ text: "Asks every time" });
    expect(approvalOf({ approval: "never" })).toEqual({ text: "Runs without a question" });
    const approval = { any: [{ field: "/amount", above: 10 }] };
    expect(approvalOf({ approval })).toEqual({ text: "Asks by a rule", rule: JSON.stringify(approval) });
  });

  it("says who decides", () => {
    expect(approversOf(tool)).toBe("the owner of the chat");
    const escalate = { afterMs: 600_000, to: ["subject:carol"] };
    expect(approversOf({ approvers: { by: ["group:finance"], excludeSelf: true, quorum: 2, escalate } })).toBe(
      "group:finance; not the owner of the chat; 2 people must approve; after 10 minutes also subject:carol",
    );
    expect(approversOf({ approvers: {} })).toBe("nobody");
  });

  it("says what may be decided, and for how long", () => {
    expect(decisionsOf(tool)).toBe("approve, deny, change the input, answer in its place · within 5 minutes");
    expect(decisionsOf({ ...tool, decisions: ["approve", "deny"], approvalTimeoutSec: 0 })).toBe(
      "approve, deny · no time limit",
    );
    expect([1, 90, 60, 7200, 86_400].map(durationOf)).toEqual([
      "1 second",
      "90 seconds",
      "1 minute",
      "2 hours",
      "1 day",
    ]);
  });
});
