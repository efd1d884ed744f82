import type { Browser } from "@playwright/test";
import { Console } from "./console";
import { InboxPage } from "./inboxPage";
import { api, type Person, signIn, withPeople } from "./people";
import { SCREENS } from "./screens";
import { expect, test } from "./test";

const FINANCE = `
[tools.process_payment]
approval = "always"
[tools.process_payment.approvers]
by = ["group:finance"]
exclude_self = true
`;

/** A browser of somebody's own. */
async function browserOf(browser: Browser, person: Person) {
  const context = await browser.newContext();
  await signIn(context, person);
  return await context.newPage();
}

test.describe("three people on two nodes", () => {
  test.use({ setup: { args: withPeople(`${FINANCE}quorum = 2\n`), nodes: 2, isKept: true } });

  test("a request takes two approvals, and everybody sees each of them", async ({ browser, server }) => {
    const [annPage, bobPage, carolPage] = await Promise.all([
      browserOf(browser, "ann"),
      browserOf(browser, "bob"),
      browserOf(browser, "carol"),
    ]);
    const bob = await new InboxPage(bobPage, server.url).open();
    const carol = await new InboxPage(carolPage, server.url).open();
    for (const each of [bob, carol]) await expect(each.page.getByText("Nothing is waiting for you")).toBeVisible();

    const ann = await new Console(annPage, server.url).open("sse");
    await ann.send("send 50 dollars to Hanako");
    const card = ann.card("process_payment");
    await expect(card).toContainText("Waiting for an approver");
    await expect(card.getByRole("button", { name: /^Approve/ })).toHaveCount(0);
    // She asked, so it is not for her to decide, and not in her inbox.
    await expect(annPage.getByRole("link", { name: "Inbox" }).locator(".badge")).toHaveCount(0);

    // Without a reload, on whichever node.
    await bob.expectReady("Pay 50 USD to Hanako");
    await carol.expectReady("Pay 50 USD to Hanako");
    await expect(bob.pane).toContainText("0 of 2");
    await expect(bob.pane.locator(".pane__fact", { hasText: "Requested by" })).toContainText("ann");

    await bobPage.keyboard.press("a");
    await expect(bob.pane).toContainText("Your approval counts.");
    await expect(bob.pane).toContainText("1 of 2: you");
    await expect(bob.pane.getByRole("button", { name: /^Approve/ })).toHaveCount(0);
    await bob.expectNoFindings();
    await expect(carol.pane).toContainText("1 of 2: bob");
    // A vote is not a decision.
    await expect(card).toContainText("Waiting for an approver");

    await carol.expectReady("Pay 50 USD to Hanako");
    await carolPage.keyboard.press("a");
    await expect(carol.results).toHaveText([/^Approved\. Pay 50 USD to Hanako/]);
    for (const each of [bob, carol]) await expect(each.page.getByText("Nothing is waiting for you")).toBeVisible();
    // Bob, who has only voted, is told what came of it, in its place.
    await expect(bob.pane).toContainText("Approved by bob and carol");
    await expect(card).toContainText(/Approved by bob and carol/);
    await expect(ann.text).toContainText("950");

    // What each of them did is in their own history.
    await bob.open("/inbox/history");
    await expect(bobPage.getByRole("list", { name: "My decisions" }).locator("> li")).toHaveText([
      /Approved, with others to follow.*Approved by bob and carol\. Done\./,
    ]);
    await carol.open("/inbox/history");
    await expect(carolPage.getByRole("list", { name: "My decisions" }).locator("> li")).toHaveText([/Approved/]);
  });
});

test.describe("a link to a request", () => {
  test.use({ setup: { args: withPeople(FINANCE), allowed: [/status of (401|404|410)/] }, ...SCREENS.phone });

  test("is followed on a phone: sign in, decide, and it says that it has ended", async ({ page, server, context }) => {
    await api(server.api, "ann").say("chat-1", "send 50 dollars to Hanako");
    const [asked] = await api(server.api, "bob").approvals();
    const hold = await new InboxPage(page, server.url).open(`/hold/${asked?.approvalId}`);
    const dialog = page.getByRole("dialog", { name: /requires an API key/ });
    await dialog.getByLabel("API key").fill("key-of-bob-0123456789");
    await dialog.getByRole("button", { name: "Continue" }).click();

    await hold.expectReady("Pay 50 USD to Hanako");
    expect(new URL(page.url()).pathname).toBe(`/hold/${asked?.approvalId}`);
    await hold.expectNoFindings();
    const approve = hold.pane.getByRole("button", { name: /^Approve/ });
    await expect(approve).toBeInViewport({ ratio: 1 });
    await expect(approve).not.toHaveAttribute("aria-disabled", "true");
    await approve.tap();
    await expect(hold.pane).toHaveAttribute("data-call-state", "ended");
    await expect(hold.pane.locator(".receipt")).toContainText("You approved this");
    await expect(hold.pane.locator(".pill")).toHaveText("Done");
    await expect(approve).toHaveCount(0);
    await hold.expectNoFindings();

    // The same link later, in a page that has never seen it.
    const later = await context.newPage();
    await signIn(later, "carol");
    await new InboxPage(later, server.url).open(`/hold/${asked?.approvalId}`);
    await expect(later.getByRole("heading", { name: "Pay 50 USD to Hanako" })).toBeVisible();
    await expect(later.locator(".receipt")).toContainText("Approved by bob");
    await new InboxPage(later, server.url).open("/hold/approval_none");
    await expect(later.getByRole("heading", { name: "There is no such request" })).toBeVisible();
    await later.getByRole("button", { name: "All that waits for me" }).click();
    await expect(later.getByText("Nothing is waiting for you")).toBeVisible();
  });

  test("takes the keys too", async ({ page, server }) => {
    await api(server.api, "ann").say("chat-1", "send 50 dollars to Hanako");
    const [asked] = await api(server.api, "bob").approvals();
    await signIn(page, "bob");
    const hold = await new InboxPage(page, server.url).open(`/hold/${asked?.approvalId}`);
    await hold.expectReady("Pay 50 USD to Hanako");
    await page.keyboard.press("d");
    await hold.pane.getByPlaceholder("Reason").fill("not today");
    await page.keyboard.press("Enter");
    await expect(hold.pane).toHaveAttribute("data-call-state", "ended");
    expect(await api(server.api, "bob").approvals()).toEqual([]);
  });

  test("shows the owner of the chat what others decide", async ({ page, server }) => {
    await api(server.api, "ann").say("chat-1", "send 50 dollars to Hanako");
    const [asked] = await api(server.api, "bob").approvals();
    await signIn(page, "ann");
    const hold = await new InboxPage(page, server.url).open(`/hold/${asked?.approvalId}`);
    await expect(hold.pane).toContainText("You can view this request, but not decide it.");
    await expect(hold.pane.getByRole("button", { name: /^(Approve|Deny)/ })).toHaveCount(0);
  });
});
