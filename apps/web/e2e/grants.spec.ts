import { InboxPage } from "./inboxPage";
import { api, signIn, withPeople } from "./people";
import { expect, test } from "./test";

const FINANCE = `
[tools.process_payment]
approval = "always"
[tools.process_payment.approvers]
by = ["group:finance"]
`;

test.use({ setup: { args: withPeople(FINANCE) } });

test("an approval that is remembered lets the same call run, until it is revoked", async ({ page, server }) => {
  const ann = api(server.api, "ann");
  const bob = api(server.api, "bob");
  await ann.say("chat-1", "send 50 dollars to Hanako");
  await signIn(page, "bob");
  const inbox = await new InboxPage(page, server.url).open();
  await inbox.expectReady("Pay 50 USD to Hanako");
  await inbox.pane.getByLabel("Remember my approval").check();
  await inbox.pane.getByLabel("Where").selectOption({ label: "all their chats" });
  await inbox.pane.getByLabel("At most").fill("none");
  await expect(inbox.pane.getByText(/Give a number of calls/)).toBeVisible();
  await inbox.pane.getByLabel("At most").fill("5");
  await inbox.expectNoFindings();
  const approve = inbox.pane.getByRole("button", { name: /^Approve and remember/ });
  await expect(approve).not.toHaveAttribute("aria-disabled", "true");
  await approve.click();
  await expect(inbox.results).toHaveText([/^Approved\./]);

  // The same call in another chat is not asked about.
  await ann.say("chat-2", "send 50 dollars to Hanako");
  expect(await bob.approvals()).toEqual([]);
  await page.getByRole("link", { name: "Grants" }).click();
  const grant = page.getByRole("list", { name: "Grants" }).locator("> li");
  await expect(grant).toContainText("The same call in all chats of ann");
  await expect(grant).toContainText("used 1 of 5 times");
  await inbox.expectNoFindings();
  await grant.getByRole("button", { name: /^Revoke/ }).click();
  await expect(grant).toHaveAttribute("data-state", "revoked");
  await expect(grant.getByRole("button", { name: /^Revoke/ })).toHaveCount(0);

  await ann.say("chat-3", "send 50 dollars to Hanako");
  expect(await bob.approvals()).toHaveLength(1);
});
