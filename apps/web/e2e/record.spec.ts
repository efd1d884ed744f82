import type { Locator } from "@playwright/test";
import { isFull } from "../playwright.config";
import { MODES } from "../src/modes";
import { SCREENS, screens } from "./screens";
import { expect, test } from "./test";

const HANAKO = "send 50 dollars to Hanako";

test.describe("two tabs race", () => {
  test.use({ setup: { allowed: [/status of (409|410) .*approvals/] } });

  for (const mode of isFull ? MODES : (["sse"] as const)) {
    test(`both show what stands, and the loser is told: ${mode}`, async ({ console, newTab }) => {
      await console.open(mode);
      await console.send(HANAKO);
      await console.expectState(console.card("process_payment"), "approval-requested");
      const other = await newTab();
      await other.open(mode, console.chatId);
      const [mine, theirs] = [console, other].map((tab) => tab.card("process_payment"));
      if (mine === undefined || theirs === undefined) throw new Error("Two tabs have two cards.");
      await other.expectState(theirs, "approval-requested");
      await theirs.getByRole("button", { name: /^Deny/ }).click();
      const deny = theirs.getByRole("button", { name: "Deny", exact: true });
      await expect(deny).not.toHaveAttribute("aria-disabled", "true");
      await expect(mine.getByRole("button", { name: /^Approve/ })).not.toHaveAttribute("aria-disabled", "true");
      // Clicks at the same moment, however busy the machine is.
      const press = (button: Locator) => button.evaluate((element: HTMLElement) => element.click());
      await Promise.all([press(mine.getByRole("button", { name: /^Approve/ })), press(deny)]);
      await expect(mine).toHaveAttribute("data-call-state", "settled");
      await expect(theirs).toHaveAttribute("data-call-state", "settled");
      const isPaid = (await mine.locator(".pill").innerText()) === "Done";
      const [winner, loser] = isPaid ? [mine, theirs] : [theirs, mine];
      await expect(theirs.locator(".pill")).toHaveText(isPaid ? "Done" : "Denied");
      await expect(winner).toContainText(isPaid ? "You approved this" : "You denied this");
      await expect(loser).toContainText(isPaid ? "Approved by local" : "Denied by local");
      await expect(loser).not.toContainText(isPaid ? "You denied" : "You approved");
      for (const tab of [console, other]) {
        await expect(tab.page.getByRole("button", { name: "Approvals", exact: true })).toBeVisible();
      }
    });
  }
});

for (const screen of screens("desktop")) {
  test.describe(screen, () => {
    test.use(SCREENS[screen]);

    test(`a denial in another tab is not this person's own words, ${screen}`, async ({ console, newTab }) => {
      await console.open("ai-sdk");
      await console.send(HANAKO);
      const card = console.card("process_payment");
      await console.expectState(card, "approval-requested");
      const other = await newTab();
      await other.open("ai-sdk", console.chatId);
      await other.deny(other.card("process_payment"), "not today");
      await expect(other.card("process_payment")).toContainText(/You denied this at .*: not today/);
      await expect(card).toContainText(/Denied by local at .*: not today/);
      await expect(card).not.toContainText("You denied");
    });

    test(`an approval request that a newer message withdrew was denied by nobody, ${screen}`, async ({
      console,
      page,
    }) => {
      await console.open("ai-sdk");
      await console.send(HANAKO);
      const card = console.card("process_payment");
      await console.expectState(card, "approval-requested");
      await console.send("what's the weather in Tokyo");
      await expect(console.text.last()).toContainText("Tokyo");
      await expect(card).toContainText("Withdrawn");
      await expect(card).toContainText("A newer message took its place.");
      await expect(card).not.toContainText(/You denied|Denied by|Denied/);
      await expect(card.getByRole("button", { name: /^Approve/ })).toHaveCount(0);
      await page.reload();
      await expect(card).toContainText("Withdrawn");
      await expect(card).not.toContainText(/Denied/);
    });
  });
}

test("a browser that refuses after the approval is a failure, not a denial", async ({
  console,
  context,
  page,
  server,
}) => {
  const devtools = await context.newCDPSession(page);
  const permission = { permission: { name: "geolocation" }, setting: "denied", origin: server.url } as const;
  await devtools.send("Browser.setPermission", permission);
  await console.open("ai-sdk");
  await console.send("where am I");
  const card = console.card("get_location");
  await console.approve(card);
  await expect(card).toContainText("Failed");
  await expect(card).toContainText("You approved this");
  await expect(card).not.toContainText(/Denied|declined/);
});

test.describe("the old button of an approval request that is gone", () => {
  test.use({ setup: { allowed: [/status of 410 .*approvals/, /ERR_FAILED.*events/] } });

  for (const mode of isFull ? MODES : (["sse"] as const)) {
    test(`brings what stands: ${mode}`, async ({ console, context, page, server }) => {
      // This tab receives no events.
      await page.route("**/api/events", (route) => route.abort());
      await console.open(mode);
      await console.send(HANAKO);
      const card = console.card("process_payment");
      await console.expectState(card, "approval-requested");
      const body = {
        id: console.chatId,
        messages: [{ role: "user", parts: [{ type: "text", text: "weather in Tokyo" }] }],
      };
      await context.request.post(`${server.api}/api/chat`, { data: { ...body, trigger: "submit-message" } });
      const approve = card.getByRole("button", { name: /^Approve/ });
      // The page may learn of it by itself in the meantime, and then the button is gone.
      const isGone = () => approve.count().then((buttons) => buttons === 0);
      await approve.click({ timeout: 3000 }).catch(async (reason) => expect(await isGone(), `${reason}`).toBe(true));
      await expect(card).toContainText("Withdrawn");
      await expect(card).not.toContainText(/Accepted|You approved|Running/);
      await expect(approve).toHaveCount(0);
    });
  }
});

for (const mode of isFull ? MODES : (["ai-sdk"] as const)) {
  test(`what ran before a regenerate or an edit stays visible: ${mode}`, async ({ console, page }) => {
    await console.open(mode);
    await console.send(HANAKO);
    const current = console.card("process_payment");
    await console.approve(current);
    await expect(console.text).toContainText("950");
    await console.expectIdle();
    await page.getByRole("button", { name: "Regenerate answer" }).click();
    const { earlier } = console;
    const payment = earlier.getByRole("region", {
      name: /^Earlier attempt: Send a payment, amount 50, recipient Hanako/,
    });
    await expect(payment).toContainText("Done");
    await expect(payment).toContainText(/(You approved this|Approved by local) at \d\d:\d\d/);
    await expect(current).toContainText("Waiting for you");
    await console.deny(current, "paid before");
    await expect(current).toContainText("paid before");
    await console.expectIdle();
    await page.reload();
    await expect(payment).toContainText(/Approved by local at \d\d:\d\d/);

    await page.getByRole("button", { name: "Edit message" }).click();
    await page.getByRole("textbox", { name: "Edit your message" }).fill("what's the weather in Osaka");
    await page.getByRole("button", { name: "Send again" }).click();
    await expect(console.text).toContainText("Osaka");
    await console.expectIdle();
    await expect(earlier.locator("[data-earlier]")).toHaveCount(2);
    await expect(payment.first()).toContainText("Done");
    await expect(earlier).toContainText("paid before");
    await payment.first().getByText("Result", { exact: true }).click();
    await expect(payment.first().getByRole("row", { name: /wallet_balance/ })).toContainText("950");
  });
}
