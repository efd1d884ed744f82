import type { PendingApproval } from "holdpoint/protocol";
import { describe, expect, it } from "vitest";
import { merge } from "../src/inbox/useInboxList";

const asked = (approvalId: string) => ({ approvalId }) as PendingApproval;

describe("the inbox", () => {
  it("keeps a card in its place when it does not wait any more", () => {
    const three = merge([], [asked("a"), asked("b"), asked("c")]);
    const two = merge(three, [asked("a"), asked("c"), asked("d")]);
    expect(two.map(({ approval, isWaiting }) => [approval.approvalId, isWaiting])).toEqual([
      ["a", true],
      ["b", false],
      ["c", true],
      ["d", true],
    ]);
  });

  it("is the same list where nothing changed, and while nothing is known", () => {
    const list = merge([], [asked("a")]);
    expect(merge(list, [asked("a")])).toBe(list);
    expect(merge(list, undefined)).toBe(list);
  });
});
