import { PAYMENT, paid, SHORT } from "./scenarios";
import { expect, test } from "./test";

const BOB = { subject: "bob", group: "finance", key: "the-key-of-bob-3d0c" };

const SETTINGS = `
[tools.process_payment]
approval = "always"

[tools.process_payment.approvers]
by = ["self", "group:${BOB.group}"]
quorum = 2
`;

/** A payment that the user of the app and somebody else have to approve. */
export function playQuorum(): void {
  test.describe("a quorum of two", () => {
    test.use({ settings: SETTINGS, approvers: [BOB] });

    test("the user's vote, then the second one", { tag: SHORT }, async ({ chat, record, holdpoint }) => {
      await chat.send(PAYMENT);
      const card = chat.cards("process_payment");
      await chat.expectState(card, "waiting");
      await chat.approve(card);
      await chat.expectVoted(card);
      const [request] = await record.requests();
      expect(request?.votes).toEqual({ by: ["app"], quorum: 2 });
      await record.expectCalls({ tool: "process_payment", decisions: [], starts: 0, outcomes: [] });

      expect(await holdpoint.approve(request?.approvalId ?? "", BOB.key)).toMatchObject({ ok: true });
      await chat.expectState(card, "done");
      await expect(chat.answers.last()).toContainText("I sent 50 USD to Hanako");
      await record.expectCalls(paid(950));
      await record.expectAtRest();
    });
  });
}
