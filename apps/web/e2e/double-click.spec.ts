import type { Locator, Page } from "@playwright/test";
import { isFull } from "../playwright.config";
import type { Console } from "./console";
import { SCREENS, type Screen, screens } from "./screens";
import { expect, expectNothingToDo, test } from "./test";

/** The time between the clicks. In the short run each screen has one: the shortest, or the longest. */
function gapsOf(screen: Screen): readonly number[] {
  if (isFull) return [60, 100, 150, 200, 300];
  return [screen === "phone" ? 300 : 60];
}

/** How many approval requests the server has decided. */
async function decided(api: string, chats: readonly string[]): Promise<number> {
  const holds = await Promise.all(
    chats.map(async (id) => (await (await fetch(`${api}/api/chat/${id}/holds`)).json()) as { decision?: unknown }[]),
  );
  return holds.flat().filter(({ decision }) => decision !== undefined).length;
}

/** The decisions that a page sends from now on. */
function sentBy(page: Page): string[] {
  const sent: string[] = [];
  page.on("request", (request) => {
    if (request.method() === "POST" && request.url().includes("/api/approvals/")) sent.push(request.url());
  });
  return sent;
}

/** Two clicks at the same position on the screen. Here time itself is what is tested. */
async function doubleClick(page: Page, button: Locator, gapMs: number): Promise<void> {
  await expect(button).not.toHaveAttribute("aria-disabled", "true");
  // A click outside of the view would hit nothing, and say nothing.
  await expect(button).toBeInViewport({ ratio: 1 });
  const box = await button.boundingBox();
  if (box === null) throw new Error("The button is not there.");
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.click(x, y);
  await page.waitForTimeout(gapMs);
  await page.mouse.click(x, y);
  await expectNothingToDo(page);
}

/** A button that has just moved, or comes after a decision, ignores clicks for a moment. */
async function press(button: Locator): Promise<void> {
  await expect(button).not.toHaveAttribute("aria-disabled", "true");
  await button.click();
}

async function ask(console: Console, amount: number): Promise<string> {
  await console.open("sse");
  await console.send(`send ${amount} dollars to Hanako`);
  await console.expectState(console.card("process_payment"), "approval-requested");
  return console.chatId;
}

for (const screen of screens("desktop", "phone")) {
  test.describe(screen, () => {
    test.use(SCREENS[screen]);

    for (const gap of gapsOf(screen)) {
      test(`a double-click of ${gap} ms in the inbox decides one thing, ${screen}`, async ({
        console,
        page,
        server,
      }) => {
        const chats = [await ask(console, 50), await ask(console, 60), await ask(console, 70)];
        await console.visit("sse", undefined, { dock: "approvals" });
        const items = page.getByRole("region", { name: /^Approval: / });
        await expect(items).toHaveCount(3);
        const first = items.first();
        const sent = sentBy(page);
        await doubleClick(page, first.getByRole("button", { name: /^Approve/ }), gap);
        await expect(first).toContainText("Done");
        expect(sent).toHaveLength(1);
        expect(await decided(server.api, chats)).toBe(1);
        // It keeps its position, with its outcome; the others still wait and can be decided.
        await expect(items).toHaveCount(3);
        await expect(items.first()).toContainText("950");
        await expect(items.nth(1).getByRole("button", { name: /^Approve/ })).toBeVisible();
        await press(items.nth(1).getByRole("button", { name: /^Deny/ }));
        await press(items.nth(1).getByRole("button", { name: "Deny", exact: true }));
        await expect(items.nth(1)).toContainText("Denied");
        expect(sent).toHaveLength(2);
        expect(await decided(server.api, chats)).toBe(2);
      });
    }

    test(`a double-click on a chat's card decides one thing, ${screen}`, async ({ console, page, server }) => {
      await console.open("ai-sdk");
      await console.send("Aliceに30ドル、Bobに40ドル送金してください");
      const cards = console.card("process_payment");
      await expect(cards.last().getByRole("button", { name: /^Approve/ })).not.toHaveAttribute("aria-disabled", "true");
      const sent = sentBy(page);
      await doubleClick(page, cards.first().getByRole("button", { name: /^Approve/ }), 200);
      await expect(cards.first()).toContainText("Done");
      expect(sent).toHaveLength(1);
      expect(await decided(server.api, [console.chatId])).toBe(1);
      // The double click on Deny opens the form and sends nothing. The form can be left.
      await doubleClick(page, cards.last().getByRole("button", { name: /^Deny/ }), 200);
      await press(cards.last().getByRole("button", { name: "Cancel" }));
      await expect(cards.last().getByRole("button", { name: /^Approve/ })).toBeVisible();
      expect(sent).toHaveLength(1);
      expect(await decided(server.api, [console.chatId])).toBe(1);
    });
  });
}

test("the focus stays at the card that was decided", async ({ console, page }) => {
  await ask(console, 50);
  await ask(console, 60);
  await console.visit("sse", undefined, { dock: "approvals" });
  const items = page.getByRole("region", { name: /^Approval: / });
  await expect(items).toHaveCount(2);
  const approve = items.first().getByRole("button", { name: /^Approve/ });
  // Before its input has been in view, the button shows that first.
  await expect(approve).not.toHaveAttribute("aria-disabled", "true");
  await expect(approve).not.toHaveAccessibleName(/not seen yet/);
  await approve.focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await expect(items.first()).toContainText("Done");
  await expect(items.first()).toBeFocused();
  await expect(items.nth(1)).toContainText("Waiting for you");
});
