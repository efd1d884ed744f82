import { fileURLToPath } from "node:url";
import type { Page } from "@playwright/test";
import { isFull } from "../playwright.config";
import { expectNoFindings, expectStill } from "./axe";
import { expect, test } from "./test";

const folder = fileURLToPath(new URL("./screenshots/", import.meta.url));

/** A screenshot, and an axe check. */
async function look(page: Page, name: string): Promise<void> {
  await expectStill(page);
  await page.screenshot({ path: `${folder}${name}.png`, animations: "disabled" });
  expect(await widest(page)).toBeLessThanOrEqual(0);
  await expectNoFindings(page, { isLegacy: true });
}

/** By how many pixels anything overflows on the right. `scrollWidth` does not count clipped content. */
function widest(page: Page): Promise<number> {
  return page.evaluate(() => {
    const parts = [
      ...document.querySelectorAll(".header button, .composer, .tool-card, .dock__head button, .message__bubble"),
    ];
    return Math.max(...parts.map((part) => part.getBoundingClientRect().right - window.innerWidth));
  });
}

const SCREENS = [
  { name: "light", viewport: { width: 1360, height: 860 }, colorScheme: "light" },
  { name: "dark", viewport: { width: 1360, height: 860 }, colorScheme: "dark" },
  { name: "phone", viewport: { width: 390, height: 844 }, colorScheme: "light" },
] as const;

// The other tests of the short form are played in the light colours.
for (const { name, viewport, colorScheme } of SCREENS.filter(({ name }) => isFull || name !== "light")) {
  test.describe(name, () => {
    test.use({ viewport, colorScheme, ...(name === "phone" && { hasTouch: true, isMobile: true }) });
    test.setTimeout(90_000);

    test(`the main states, ${name}`, async ({ console, page }) => {
      await console.open("sse");
      await expect(page.getByRole("heading", { name: /needs a yes/ })).toBeVisible();
      await look(page, `${name}-1-welcome`);
      await page.getByRole("button", { name: /^send 50 dollars/ }).click();
      const card = console.card("process_payment");
      await expect(card.getByRole("timer")).toContainText("left");
      await expect(card.getByRole("button", { name: /^Approve/ })).not.toHaveAttribute("aria-disabled", "true");
      await look(page, `${name}-2-asking`);
      await card.getByRole("button", { name: /^Deny/ }).click();
      await look(page, `${name}-3-denying`);
      await card.getByRole("button", { name: "Cancel" }).click();
      await page.getByRole("button", { name: /^Approvals/ }).click();
      await expect(page.getByRole("region", { name: /^Approval: Send a payment/ })).toBeVisible();
      await look(page, `${name}-4-inbox`);
      await page.getByRole("button", { name: "Close the panel" }).click();
      await console.approve(card);
      await expect(console.text).toContainText("950");
      await console.expectIdle();
      await look(page, `${name}-5-done`);
      await page.getByRole("button", { name: "Inspector" }).click();
      await expect(page.getByRole("img", { name: /^Timeline/ })).toBeVisible();
      await expect(page.locator(".verdict")).toBeVisible();
      await expect(page.getByRole("list", { name: "Records" }).getByRole("listitem").last()).toBeInViewport();
      await look(page, `${name}-6-inspector`);
      await page.getByRole("button", { name: "Close the panel" }).click();
      await console.send("open https://example.com");
      await expect(page.locator("iframe")).toBeVisible();
      await look(page, `${name}-7-page`);
      await page.getByRole("button", { name: "Close the panel" }).click();
      await expect(console.text).not.toBeEmpty();
      if (name === "phone") {
        await page.getByRole("button", { name: "Chats" }).click();
        await expect(page.getByRole("navigation", { name: "Chats" })).toBeVisible();
        await look(page, `${name}-8-chats`);
      }
    });
  });
}

test("the switch goes over the system's colours, and is remembered", async ({ console, page }) => {
  await page.emulateMedia({ colorScheme: "light" });
  await console.open("sse");
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.getByRole("radio", { name: "Dark" }).click();
  const dark = await background();
  expect(dark).not.toBe(light);
  await page.reload();
  await expect(console.composer).toBeVisible();
  expect(await background()).toBe(dark);
});

test("a whole approval by keyboard", async ({ console, page }) => {
  await console.open("sse");
  await expect(console.composer).toBeFocused();
  await page.keyboard.type("send 50 dollars to Hanako");
  await page.keyboard.press("Enter");
  const card = console.card("process_payment");
  await expect(card.getByRole("button", { name: /^Approve/ })).toBeVisible();
  // A screen reader announces the approval request without moving the focus.
  await expect(page.getByTestId("question")).toHaveText(
    /^Approval needed: Send a payment, amount 50, recipient Hanako/,
  );
  await expect(console.composer).toBeFocused();
  const approve = card.getByRole("button", { name: /^Approve/ });
  // Before its input has been in view, the button shows that first.
  await expect(approve).not.toHaveAccessibleName(/not seen yet/);
  await approve.focus();
  await page.keyboard.press("Enter");
  await expect(card).toBeFocused();
  await console.expectState(card, "output-available");
  await expect(page.getByTestId("speech")).toContainText("950");
});

test("the page is drawn before the server has said anything", async ({ console, page }) => {
  await console.open("sse");
  await console.send("what's the weather in Tokyo");
  await console.expectIdle();
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route("**/api/**", async (route) => {
    await held;
    await route.continue();
  });
  await page.reload();
  await expect(console.composer).toBeVisible();
  await expect(page.getByRole("status", { name: "Reading the chat" })).toBeVisible();
  release();
  await expect(console.text).toContainText("Tokyo");
});
