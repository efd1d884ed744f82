import type { App } from "./app";
import type { ExpectedCall } from "./record";
import { expect, test } from "./test";

/** What `get_location` finds in these tests. */
const POSITION = { latitude: 35.6812, longitude: 139.7671 };

/** What is played in every test run. The rest is for `cargo xtask full apps`. */
export const SHORT = "@short";

export const PAYMENT = "send 50 dollars to Hanako";
const TWO_PAYMENTS = "Aliceに30ドル、Bobに40ドル送金してください";

/** A payment that was made once. */
export const paid = (balance: number): ExpectedCall => ({
  tool: "process_payment",
  decisions: ["approved"],
  starts: 1,
  outcomes: ["ran"],
  output: { success: true, wallet_balance: balance },
});
/** A call that was denied, and never ran. */
export const denied = (tool: string): ExpectedCall => ({
  tool,
  decisions: ["denied"],
  starts: 0,
  outcomes: ["decision"],
});

/**
 * What every app must do. Each scenario checks what the page shows, and what the server has. All tests of the file that
 * calls this are about the app.
 */
export function playScenarios(app: App): void {
  test.use({ app });
  test.describe(app.name, scenarios);
}

function scenarios(): void {
  test("text", async ({ chat, record }) => {
    await chat.send("hello");
    await expect(chat.answers.last()).toContainText("I am the demo model");
    expect(await record.said()).toEqual(["hello"]);
    await record.expectCalls();
  });

  test("approve", { tag: SHORT }, async ({ chat, record }) => {
    await chat.send(PAYMENT);
    const card = chat.cards("process_payment");
    await chat.expectState(card, "waiting");
    await expect(card).toContainText("Hanako");
    expect(await record.openRequests()).toBe(1);
    await chat.approve(card);
    await chat.expectState(card, "done");
    await expect(chat.answers.last()).toContainText("I sent 50 USD to Hanako");
    await record.expectCalls(paid(950));
    await record.expectAtRest();
  });

  test("deny", async ({ chat, record }) => {
    await chat.send(PAYMENT);
    const card = chat.cards("process_payment");
    await chat.expectState(card, "waiting");
    await chat.deny(card);
    await chat.expectState(card, "denied");
    await expect(chat.answers.last()).not.toBeEmpty();
    await record.expectCalls(denied("process_payment"));
    await record.expectAtRest();
  });

  test("two payments", async ({ chat, record }) => {
    await chat.send(TWO_PAYMENTS);
    const cards = chat.cards("process_payment");
    await chat.expectState(cards.first(), "waiting");
    await chat.approve(cards.first());
    // Where calls are made one at a time, the second card appears now.
    await expect(cards).toHaveCount(2);
    await chat.expectState(cards.last(), "waiting");
    await chat.approve(cards.last());
    await chat.expectState(cards.first(), "done");
    await chat.expectState(cards.last(), "done");
    await expect(chat.answers.last()).not.toBeEmpty();
    await record.expectCalls(paid(970), paid(930));
    await record.expectAtRest();
  });

  test("two payments, one of them denied", async ({ chat, record }) => {
    await chat.send(TWO_PAYMENTS);
    const cards = chat.cards("process_payment");
    await chat.expectState(cards.first(), "waiting");
    await chat.deny(cards.first());
    await expect(cards).toHaveCount(2);
    await chat.expectState(cards.last(), "waiting");
    await chat.approve(cards.last());
    await chat.expectState(cards.first(), "denied");
    await chat.expectState(cards.last(), "done");
    await record.expectCalls(denied("process_payment"), paid(960));
    await record.expectAtRest();
  });

  test.describe("browser tool", () => {
    test.use({ geolocation: POSITION, permissions: ["geolocation"] });

    const located: ExpectedCall = {
      tool: "get_location",
      decisions: ["approved"],
      starts: 1,
      outcomes: ["result"],
      output: POSITION,
    };

    test("approved", async ({ chat, record }) => {
      await chat.send("where am I");
      const card = chat.cards("get_location");
      await chat.expectState(card, "waiting");
      await chat.approve(card);
      await chat.expectState(card, "done");
      await expect(chat.answers.last()).toContainText("35.68");
      await record.expectCalls(located);
      await record.expectAtRest();
    });

    test("denied", async ({ chat, record }) => {
      await chat.send("where am I");
      const card = chat.cards("get_location");
      await chat.expectState(card, "waiting");
      await chat.deny(card);
      await chat.expectState(card, "denied");
      await record.expectCalls(denied("get_location"));
      await record.expectAtRest();
    });

    test("approved after a reload", async ({ chat, record }) => {
      await chat.send("where am I");
      await chat.expectState(chat.cards("get_location"), "waiting");
      await chat.open();
      const card = chat.cards("get_location");
      await chat.expectState(card, "waiting");
      await chat.approve(card);
      await chat.expectState(card, "done");
      await record.expectCalls(located);
      await record.expectAtRest();
    });
  });

  test("reload in mid-approval, then approve", async ({ chat, record }) => {
    await chat.send(PAYMENT);
    await chat.expectState(chat.cards("process_payment"), "waiting");
    await chat.open();
    const card = chat.cards("process_payment");
    await expect(card).toHaveCount(1);
    await chat.expectState(card, "waiting");
    await chat.approve(card);
    await chat.expectState(card, "done");
    await expect(chat.answers.last()).toContainText("I sent 50 USD to Hanako");
    await record.expectCalls(paid(950));
    await record.expectAtRest();
    // The chat goes on, and a reload shows what happened.
    await chat.send("thanks");
    await expect(chat.answers.last()).toContainText("You are welcome");
    await chat.open();
    await chat.expectState(card, "done");
    await expect(chat.answers.last()).toContainText("You are welcome");
    expect(await record.said()).toEqual([PAYMENT, "thanks"]);
  });

  test("restart in mid-approval, then approve", async ({ chat, record, holdpoint }) => {
    await chat.send(PAYMENT);
    const card = chat.cards("process_payment");
    await chat.expectState(card, "waiting");
    await holdpoint.restart();
    await chat.approve(card);
    await chat.expectState(card, "done");
    await expect(chat.answers.last()).toContainText("I sent 50 USD to Hanako");
    await record.expectCalls(paid(950));
    await record.expectAtRest();
  });
}
