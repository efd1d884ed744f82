import { expect, pay, test } from "./payments";
import { api } from "./people";

test("with rows ticked, a key decides these and never the one that is shown", async ({
  bobReads,
  decides,
  ledger,
  server,
}) => {
  const bob = await bobReads(1, 2, 3, 4);
  await bob.tick(pay(2), pay(3));
  await bob.page.keyboard.press("a");
  const dialog = bob.page.getByRole("dialog", { name: "Approve 2 requests?" });
  await expect(dialog.locator(".bulk__headline")).toHaveText([/Vendor 2/, /Vendor 3/]);
  expect(ledger.runs).toEqual([]);
  await bob.page.keyboard.press("Escape");
  await bob.page.keyboard.press("d");
  await expect(bob.page.getByRole("dialog", { name: "Deny 2 requests?" })).toBeVisible();
  await bob.page.keyboard.press("Escape");

  // Somebody else decides both. What is ticked is still what the key is meant for.
  for (const number of [2, 3]) await decides("carol", number, { approved: false });
  await expect(bob.page.getByRole("toolbar", { name: /selected/ })).toContainText("2 selected, 2 ended");
  await bob.page.keyboard.press("a");
  await expect(bob.page.getByRole("dialog", { name: "Approve 0 of 2 requests?" })).toContainText(
    "Left out: it has ended.",
  );
  await bob.page.keyboard.press("Escape");
  expect(ledger.runs).toEqual([]);
  expect(await api(server.api, "carol").approvals()).toHaveLength(2);
});

test.describe("a long input", () => {
  test.use({ memoLines: 150 });

  test("is left out until its lines were in view", async ({ ask, inboxOf, ledger, server }) => {
    await ask(1, 2);
    const bob = await inboxOf("bob");
    await expect(bob.row(pay(2))).toBeVisible();
    await bob.tick(pay(1), pay(2));
    await bob.page
      .getByRole("toolbar", { name: /selected/ })
      .getByRole("button", { name: "Approve…" })
      .click();
    const dialog = bob.page.getByRole("dialog", { name: "Approve 0 of 2 requests?" });
    const items = dialog.locator(".bulk__item");
    for (const at of [0, 1]) await expect(items.nth(at)).toContainText(/Left out: \d+ lines not read yet · Open/);
    // Also with everything in view that the dialog has.
    await items
      .nth(1)
      .getByText(/^Left out/)
      .scrollIntoViewIfNeeded();
    await expect(dialog.getByRole("button", { name: /^Approve/ })).toHaveAttribute("aria-disabled", "true");
    await dialog.getByRole("button", { name: /^Approve/ }).click({ force: true });
    await bob.expectNoFindings();
    await items.nth(1).getByRole("button", { name: "Open" }).click();
    await expect(bob.page.getByRole("dialog")).toHaveCount(0);
    await expect(bob.pane.getByRole("heading", { name: pay(2), level: 2 })).toBeVisible();
    expect(ledger.runs).toEqual([]);
    expect(await api(server.api, "carol").approvals()).toHaveLength(2);

    // Read by itself, it can be approved with others.
    await bob.readAll();
    await bob.tick(pay(1), pay(2));
    await bob.page
      .getByRole("toolbar", { name: /selected/ })
      .getByRole("button", { name: "Approve…" })
      .click();
    const second = bob.page.getByRole("dialog", { name: "Approve 1 of 2 requests?" });
    const send = second.getByRole("button", { name: /^Approve 1 request/ });
    await expect(send).not.toHaveAttribute("aria-disabled", "true");
    await send.click();
    await expect(bob.page.locator(".bulk__outcome")).toHaveText([
      /^Left out: \d+ lines not read yet/,
      /^Approved\. Done\./,
    ]);
    expect(ledger.runs).toMatchObject([{ vendor: "Vendor 2" }]);
  });
});

test.describe("a vote", () => {
  test.use({ quorum: 2 });

  test("is not given twice, and it is said why", async ({ ask, decides, inboxOf }) => {
    await ask(1, 2);
    await decides("bob", 1, { approved: true });
    const bob = await inboxOf("bob");
    await expect(bob.row(pay(2))).toBeVisible();
    await bob.tick(pay(1), pay(2));
    await bob.page.keyboard.press("a");
    const dialog = bob.page.getByRole("dialog", { name: "Approve 1 of 2 requests?" });
    await expect(dialog.locator(".bulk__item").first()).toContainText("Left out: you have already approved it.");
  });
});
