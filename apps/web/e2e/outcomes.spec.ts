import { expect, pay, test } from "./payments";
import { api } from "./people";
import { SCREENS } from "./screens";

test("whoever approved is told what came of it: running, done, failed", async ({ bobReads, ledger }) => {
  const bob = await bobReads(1, 2);
  const release = ledger.hold();
  await bob.page.keyboard.press("a");
  const [first, second] = [bob.results.nth(0), bob.results.nth(1)];
  await expect(first).toHaveText(`Approved. ${pay(1)} · Running…`);
  await expect.poll(() => ledger.runs).toHaveLength(1);
  release();
  await expect(first).toHaveText(`Approved. ${pay(1)} · Done.`);

  ledger.answerWith(500);
  await bob.expectReady(pay(2));
  await bob.page.keyboard.press("a");
  await expect(second).toHaveText(/^Approved\. Pay 200 USD to Vendor 2 · Failed: .*500/);
  await expect(second).toHaveAttribute("data-tone", "bad");
  await bob.expectNoFindings();

  await bob.open("/inbox/history");
  const history = bob.page.getByRole("list", { name: "My decisions" }).locator("> li");
  await expect(history).toHaveText([
    /^Pay 200 USD to Vendor 2Approved.*Failed: .*500/,
    /^Pay 100 USD to Vendor 1Approved.*Done\./,
  ]);
  await bob.expectNoFindings();
  await history
    .first()
    .getByRole("link", { name: pay(2) })
    .click();
  await expect(bob.pane).toContainText("Failed");
  await expect(bob.pane).toContainText("Approved by bob");
  expect(ledger.runs).toEqual([
    { vendor: "Vendor 1", amount: 100 },
    { vendor: "Vendor 2", amount: 200 },
  ]);
});

test("an outcome that nobody knows is told as that", async ({ bobReads, ledger, server }) => {
  const bob = await bobReads(1);
  const release = ledger.hold();
  await bob.page.keyboard.press("a");
  await expect.poll(() => ledger.runs).toHaveLength(1);
  await expect(bob.results).toHaveText([/Running…/]);
  await server.kill();
  release();
  await server.restart();
  await expect(bob.results).toHaveText([/^Approved\. Pay 100 USD to Vendor 1 · Outcome unknown/]);
  expect(ledger.runs).toHaveLength(1);
});

test("after an edit, what ran is named", async ({ bobReads, ledger }) => {
  const bob = await bobReads(9);
  await bob.page.keyboard.press("e");
  const form = bob.page.getByRole("dialog", { name: /Edit the input/ });
  await form.getByRole("textbox", { name: "amount" }).fill("10");
  await bob.page.keyboard.press("Enter");
  const check = bob.page.getByRole("dialog", { name: /Check the changes/ });
  const send = check.getByRole("button", { name: /^Approve with changes/ });
  await expect(send).not.toHaveAttribute("aria-disabled", "true");
  await send.click();
  await expect(bob.results).toHaveText(["Approved with changes. Pay 10 USD to Vendor 9 · Done."]);
  expect(ledger.runs).toEqual([{ vendor: "Vendor 9", amount: 10 }]);
  await bob.open("/inbox/history");
  await expect(bob.page.getByRole("list", { name: "My decisions" })).toContainText("Pay 10 USD to Vendor 9");
});

test("whoever comes second is told who was first, and how", async ({ ask, idOf, inboxOf, ledger, server }) => {
  await ask(1, 2);
  const id = await idOf(1);
  const bob = await inboxOf("bob");
  await bob.expectReady(pay(1));
  // Bob's page does not know yet that carol has denied it.
  let isHeld = true;
  await bob.page.route("**/api/approvals/*", async (route) => {
    if (isHeld && route.request().method() === "POST") {
      isHeld = false;
      const denied = { approved: false, reason: "a duplicate" };
      expect(await api(server.api, "carol").decide(id, denied)).toBe(200);
    }
    await route.continue();
  });
  await bob.page.keyboard.press("a");
  await expect(bob.results).toHaveText([/^Yours was not accepted\. Denied by carol\. Pay 100/]);
  await expect(bob.pane).toHaveAttribute("data-call-state", "ended");
  await expect(bob.pane.getByRole("heading", { name: pay(1), level: 2 })).toBeVisible();
  await expect(bob.pane).toContainText(/Denied by carol at .*a duplicate/);
  expect(ledger.runs).toEqual([]);
});

test.describe("a link to a request that takes two", () => {
  test.use({ quorum: 2, contextOptions: SCREENS.phone });

  test("the second vote is told with its outcome, also after a reload", async ({
    ask,
    idOf,
    inboxOf,
    ledger,
    server,
  }) => {
    await ask(1, 2);
    const id = await idOf(1);
    expect(await api(server.api, "bob").decide(id, { approved: true })).toBe(200);
    const carol = await inboxOf("carol", `/hold/${id}`);
    await carol.expectReady(pay(1));
    await expect(carol.pane).toContainText("1 of 2: bob");
    await carol.pane.getByRole("button", { name: /^Approve/ }).tap();
    for (const again of [false, true]) {
      if (again) await carol.page.reload();
      await expect(carol.pane).toHaveAttribute("data-call-state", "ended");
      await expect(carol.pane.getByRole("heading", { name: pay(1), level: 2 })).toBeVisible();
      await expect(carol.pane.getByRole("heading", { level: 2 }).locator("xpath=..")).toContainText("Done");
      await expect(carol.pane.locator(".receipt")).toContainText(
        again ? "Approved by bob and carol" : "You approved this",
      );
      await expect(carol.pane).not.toContainText("1 of 2");
      await carol.expectNoFindings();
    }
    expect(ledger.runs).toEqual([{ vendor: "Vendor 1", amount: 100 }]);

    // A denial is not a success, and a withdrawn request is neither.
    const other = await idOf(2);
    expect(await api(server.api, "bob").decide(other, { approved: false, reason: "no" })).toBe(200);
    await carol.open(`/hold/${other}`);
    await expect(carol.pane.locator(".pill")).toHaveText("Denied");
    await expect(carol.pane.locator(".pill")).toHaveAttribute("data-tone", "bad");
    await expect(carol.pane.locator(".receipt")).toContainText(/Denied by bob at .*no/);
    await expect(carol.page.locator(".lucide-circle-check-big")).toHaveCount(0);
    await ask(3);
    const third = await idOf(3);
    await api(server.api, "ann").say("chat-3", "never mind", 2);
    await carol.open(`/hold/${third}`);
    await expect(carol.pane.locator(".pill")).toHaveText("Withdrawn");
    expect(ledger.runs).toHaveLength(1);
  });
});

test.describe("a vote", () => {
  test.use({ quorum: 2 });

  test("is followed until others have made it complete, and waits for others meanwhile", async ({
    ask,
    idOf,
    inboxOf,
    ledger,
    server,
  }) => {
    await ask(1);
    const id = await idOf(1);
    const bob = await inboxOf("bob");
    await bob.expectReady(pay(1));
    const badge = bob.page.getByRole("link", { name: /Waiting for me/ }).locator(".badge");
    await expect(badge).toHaveText("1");
    await bob.page.keyboard.press("a");
    await expect(bob.pane.locator(".pill")).toHaveText("Waiting for others");
    await expect(badge).toHaveCount(0);
    expect(ledger.runs).toEqual([]);
    expect(await api(server.api, "carol").decide(id, { approved: true })).toBe(200);
    await expect(bob.results).toHaveText([`Approved by bob and carol. ${pay(1)} · Done.`]);
    await expect(bob.pane).toContainText("Approved by bob and carol");
    expect(ledger.runs).toEqual([{ vendor: "Vendor 1", amount: 100 }]);
  });
});

test("a chat waits for those who can do something about it", async ({ ask, browserOf, server }) => {
  await ask(1);
  const page = await browserOf("ann");
  await page.goto(`${server.url}/`);
  const chat = page.getByRole("navigation", { name: "Chats" }).getByRole("button", { name: /^pay 1/ });
  await expect(chat).toHaveText("pay 1Waiting for approval");
  await expect(page.getByText("Waiting for you")).toHaveCount(0);
});
