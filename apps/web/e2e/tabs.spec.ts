import { isFull } from "../playwright.config";
import { MODES } from "../src/modes";
import { expect, test } from "./test";

const HANAKO = "send 50 dollars to Hanako";

test.describe("a reload in mid-approval comes back to the approval request", () => {
  for (const mode of isFull ? MODES : (["sse", "ai-sdk-ws"] as const)) {
    test(mode, async ({ console, page }) => {
      await console.open(mode);
      await console.send(HANAKO);
      const card = console.card("process_payment");
      await console.expectState(card, "approval-requested");
      await page.reload();
      await console.expectState(card, "approval-requested");
      await expect(card.getByRole("timer")).toContainText("left");
      await console.approve(card);
      await console.expectState(card, "output-available");
      await expect(console.text).toContainText("950");
      await console.expectIdle();
      await expect(console.answers).toHaveCount(1);
    });
  }
});

test.describe("the inbox moves a chat on in another tab", () => {
  for (const mode of isFull ? MODES : (["ai-sdk"] as const)) {
    test(mode, async ({ console, newTab }) => {
      await console.open(mode);
      await console.send(HANAKO);
      await console.expectState(console.card("process_payment"), "approval-requested");

      const other = await newTab();
      await other.open("sse", undefined, { dock: "approvals" });
      const item = other.page.getByRole("region", { name: /^Approval: Send a payment, amount 50/ });
      await expect(item.getByRole("row", { name: /recipient/ })).toContainText("Hanako");
      await expect(item).toContainText("This tool always needs approval.");
      await expect(other.page.getByRole("button", { name: "Approvals, 1 waiting" })).toBeVisible();
      await item.getByRole("button", { name: /^Approve/ }).click();
      await expect(item).toContainText("Done");
      await expect(item).toContainText("You approved this");

      await console.expectState(console.card("process_payment"), "output-available");
      await expect(console.text).toContainText("950");
      await console.expectIdle();
      await expect(console.card("process_payment")).toContainText("Approved by local");
      await expect(console.page.getByRole("button", { name: "Approvals", exact: true })).toBeVisible();
    });
  }
});

test("a chat that is looked at elsewhere shows what came of it, when it is opened again", async ({
  console,
  newTab,
}) => {
  await console.open("sse");
  await console.send(HANAKO);
  await console.expectState(console.card("process_payment"), "approval-requested");
  await console.page.getByRole("button", { name: "New chat" }).click();
  await expect(console.answers).toHaveCount(0);

  const other = await newTab();
  await other.open("sse", undefined, { dock: "approvals" });
  const item = other.page.getByRole("region", { name: /^Approval: Send a payment, amount 50/ });
  await item.getByRole("button", { name: /^Deny/ }).click();
  await item.getByRole("textbox").fill("not today");
  await item.getByRole("button", { name: "Deny", exact: true }).click();
  await expect(item).toContainText("Denied");

  await console.page
    .getByRole("navigation", { name: "Chats" })
    .getByRole("button", { name: HANAKO, exact: true })
    .click();
  await expect(console.card("process_payment")).toContainText(/Denied by local at .*: not today/);
});

test.describe("two tabs run a browser's tool once", () => {
  for (const mode of isFull ? MODES : (["live", "ai-sdk"] as const)) {
    test(mode, async ({ console, context, server, newTab }) => {
      await context.grantPermissions(["geolocation"], { origin: server.url });
      await context.setGeolocation({ latitude: 35.6812, longitude: 139.7671 });
      const counts = await countLocations(context);
      await console.open(mode);
      await console.send("where am I");
      await console.expectState(console.card("get_location"), "approval-requested");
      const other = await newTab();
      await other.open(mode, console.chatId);
      await other.expectState(other.card("get_location"), "approval-requested");

      await console.approve(console.card("get_location"));
      for (const tab of [console, other]) {
        await tab.expectState(tab.card("get_location"), "output-available");
        await expect(tab.text).not.toBeEmpty();
        await tab.expectIdle();
      }
      expect(counts.total).toBe(1);
    });
  }
});

test("any number of tabs have one connection for the events, and go on when its tab is closed", async ({
  console,
  context,
  newTab,
}) => {
  let streams = 0;
  context.on("request", (request) => {
    if (request.url().endsWith("/api/events")) streams += 1;
  });
  await console.open("sse");
  const others = [];
  // With a connection each, the seventh would never load.
  for (let tab = 0; tab < 7; tab++) {
    const other = await newTab();
    await other.open("sse", undefined, { dock: "approvals" });
    others.push(other);
  }
  expect(streams).toBe(1);
  await console.page.close();
  await expect.poll(() => streams).toBe(2);
  const [asking, ...watching] = others;
  await asking?.send(HANAKO);
  for (const { page } of watching) {
    await expect(page.getByRole("button", { name: "Approvals, 1 waiting" })).toBeVisible();
  }
  expect(streams).toBe(2);
});

/** Counts how often any page of this browser requests its location. */
async function countLocations(context: import("@playwright/test").BrowserContext): Promise<{ total: number }> {
  const counts = { total: 0 };
  await context.exposeFunction("countLocation", () => {
    counts.total += 1;
  });
  await context.addInitScript(() => {
    const ask = navigator.geolocation.getCurrentPosition.bind(navigator.geolocation);
    navigator.geolocation.getCurrentPosition = (...args) => {
      (window as unknown as { countLocation: () => void }).countLocation();
      ask(...args);
    };
  });
  return counts;
}

test("stop withdraws the approval request, and the chat stays usable", async ({ console }) => {
  await console.open("sse");
  await console.send(HANAKO);
  const card = console.card("process_payment");
  await console.expectState(card, "approval-requested");
  await console.page.getByRole("button", { name: "Stop", exact: true }).click();
  await expect(card).toHaveAttribute("data-state", /^output-(error|denied)$/);
  await console.expectIdle();
  await console.send("what's the weather in Tokyo");
  await console.expectState(console.card("get_weather"), "output-available");
});

test("edit replaces what came after, regenerate answers again", async ({ console, page }) => {
  await console.open("sse");
  await console.send("what's the weather in Tokyo");
  await expect(console.text).toContainText("Tokyo");
  await console.expectIdle();
  await page.getByRole("button", { name: "Edit message" }).click();
  await page.getByRole("textbox", { name: "Edit your message" }).fill("what's the weather in Osaka");
  await page.getByRole("button", { name: "Send again" }).click();
  await expect(console.text).toContainText("Osaka");
  await expect(console.answers).toHaveCount(1);
  await console.expectIdle();

  const call = await console.card("get_weather").getAttribute("data-call");
  await page.getByRole("button", { name: "Regenerate answer" }).click();
  await expect(console.card("get_weather")).not.toHaveAttribute("data-call", call ?? "");
  await expect(console.text).toContainText("Osaka");
  await console.expectIdle();
  await expect(console.answers).toHaveCount(1);
  await page.reload();
  await expect(console.text).toContainText("Osaka");
  await expect(console.answers).toHaveCount(1);
});

test("another mode shows the same chat, also in the middle of an approval request", async ({ console, page }) => {
  await console.open("sse");
  await console.send(HANAKO);
  await console.expectState(console.card("process_payment"), "approval-requested");
  await page.getByRole("button", { name: "Transport: SSE" }).click();
  await page.getByRole("menuitemradio", { name: /^Live/ }).click();
  await console.expectState(console.card("process_payment"), "approval-requested");
  await console.approve(console.card("process_payment"));
  await console.expectState(console.card("process_payment"), "output-available");
  await console.expectIdle();
});

test.describe("an expiry", () => {
  // Long enough for a slow machine to see it counted down.
  test.use({ setup: { env: { HOLDPOINT_TOOLS__PROCESS_PAYMENT__APPROVAL_TIMEOUT_SEC: "6" } } });

  for (const mode of isFull ? MODES : (["live"] as const)) {
    test(`is counted down to and shown: ${mode}`, async ({ console, page }) => {
      await console.open(mode);
      await console.send(HANAKO);
      const card = console.card("process_payment");
      await expect(card.getByRole("timer")).toHaveText(/0:0[1-6] left/);
      await console.expectState(card, "output-error");
      await expect(card).toContainText("Approval request timed out");
      await expect(card.getByRole("button", { name: /^Approve/ })).toHaveCount(0);
      // If no client watched the expiry, the model continues when a user returns.
      const proceed = page.getByRole("button", { name: "Continue" });
      await expect(proceed.or(console.text)).toBeVisible();
      if (await proceed.isVisible()) await proceed.click();
      await expect(console.text).not.toBeEmpty();
      await console.expectIdle();
      await expect(console.answers).toHaveCount(1);
    });
  }
});
