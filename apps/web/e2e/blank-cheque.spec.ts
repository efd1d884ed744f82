import { expect, test } from "./payments";
import { api } from "./people";

test("a grant without any limit looks like one, takes a second step, and is told", async ({
  ask,
  bobReads,
  ledger,
  server,
}) => {
  const bob = await bobReads(1);
  await bob.pane.getByLabel("Remember my approval").check();
  const box = bob.pane.getByRole("group", { name: /without a question/ });
  await expect(box).toHaveAttribute("data-breadth", "narrow");
  const narrow = await box.evaluate((element) => getComputedStyle(element).borderTopColor);
  await bob.pane.getByLabel("What").selectOption("tool");
  await expect(box).toHaveAttribute("data-breadth", "wide");
  await expect(box).toContainText(
    "with any input, runs without a question in this chat, any number of times, for 1 hour.",
  );
  await bob.pane.getByLabel("Where").selectOption("subject");
  await bob.pane.getByLabel(/^For/).selectOption("always");
  await expect(box).toHaveAttribute("data-breadth", "unlimited");
  await expect(box).toContainText(
    "with any input, runs without a question in every chat of ann, any number of times, without end.",
  );
  expect(await box.evaluate((element) => getComputedStyle(element).borderTopColor)).not.toBe(narrow);
  // No choice is cut off.
  const clipped = await box
    .locator("select, input")
    .evaluateAll((fields) =>
      fields.filter((field) => field.scrollWidth > field.clientWidth + 1).map((field) => field.className),
    );
  expect(clipped).toEqual([]);
  await bob.expectNoFindings();

  // The key leads to the second step and does not take it, however often it is pressed.
  await bob.page.keyboard.press("Escape");
  await bob.page.keyboard.press("a");
  const confirm = bob.pane.getByRole("region", { name: "Confirm the grant" });
  await expect(confirm).toContainText("with any input, runs without a question in every chat of ann");
  await bob.expectNoFindings();
  await bob.page.keyboard.press("a");
  await bob.page.keyboard.press("Enter");
  expect(ledger.runs).toEqual([]);
  await confirm.getByRole("button", { name: "Back" }).click();
  await expect(confirm).toHaveCount(0);
  await bob.pane.getByRole("button", { name: /^Approve and remember…/ }).click();
  const send = confirm.getByRole("button", { name: /^Approve, and never ask again/ });
  await expect(send).not.toHaveAttribute("aria-disabled", "true");
  await send.click();
  await expect(bob.results).toHaveText([
    /^Approved\. Pay 100 .* · Done\.A grant was made: Every call of this tool, with any input/,
  ]);
  expect(ledger.runs).toHaveLength(1);
  await bob.expectNoFindings();

  // It does what it says.
  await ask(9);
  await expect.poll(() => ledger.runs).toHaveLength(2);
  expect(await api(server.api, "bob").approvals()).toEqual([]);
});

test("a grant with a limit takes one step, and is told", async ({ bobReads, ledger }) => {
  const bob = await bobReads(1);
  await bob.pane.getByLabel("Remember my approval").check();
  await bob.pane.getByLabel("At most").fill("2");
  const approve = bob.pane.getByRole("button", { name: /^Approve and remember: / });
  await expect(approve).not.toHaveAttribute("aria-disabled", "true");
  await approve.click();
  await expect(bob.results).toHaveText([/A grant was made: The same call with this exact input .* 2 times at most/]);
  expect(ledger.runs).toHaveLength(1);
});

test("an edit says what will be remembered where it is approved, and a bad number stops both", async ({
  bobReads,
  ledger,
}) => {
  const bob = await bobReads(1);
  await bob.pane.getByLabel("Remember my approval").check();
  await bob.pane.getByLabel("At most").fill("none");
  for (const name of [/^Approve/, /^Edit/])
    await expect(bob.pane.getByRole("button", { name })).toHaveAttribute("aria-disabled", "true");
  await bob.pane.getByLabel("At most").fill("");
  await bob.pane.getByLabel("What").selectOption("tool");
  await bob.pane.getByLabel(/^For/).selectOption("always");
  await bob.pane.getByRole("button", { name: /^Edit/ }).click();
  await bob.page
    .getByRole("dialog", { name: /Edit the input/ })
    .getByRole("textbox", { name: "amount" })
    .fill("5");
  await bob.page.keyboard.press("Enter");
  const check = bob.page.getByRole("dialog", { name: /Check the changes/ });
  await expect(check.getByText(/with any input, runs without a question/)).toBeVisible();
  await bob.expectNoFindings();
  expect(ledger.runs).toEqual([]);
});
