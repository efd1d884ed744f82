import { createHash } from "node:crypto";
import { isFull } from "../playwright.config";
import { MODES } from "../src/modes";
import { scratchFile, slowModel } from "./scratch";
import { expect, test } from "./test";

/** The slow model's answer, block by block. */
const WHOLE = ["The first half,", "and the second half."];
const HANAKO = "send 50 dollars to Hanako";

test.describe("while the model writes", () => {
  test.use({ setup: { args: ["--model", slowModel(3000)] } });

  for (const mode of isFull ? MODES : (["sse", "ai-sdk"] as const)) {
    test(`a reload comes back to the answer: ${mode}`, async ({ console, page }) => {
      await console.open(mode);
      await console.send("go on");
      await expect(console.text).toHaveText(["The first half,"]);
      await page.reload();
      await expect(page.getByRole("article", { name: "You" })).toContainText("go on");
      await expect(console.text).toHaveText(WHOLE);
      await console.expectIdle();
      await expect(console.answers).toHaveCount(1);
    });
  }

  for (const mode of isFull ? MODES : (["live"] as const)) {
    test(`another tab sees the approval request and the decision: ${mode}`, async ({ console, newTab }) => {
      await console.open(mode);
      await console.send("first");
      await expect(console.text).toHaveText(WHOLE);
      const other = await newTab();
      await other.open(mode, console.chatId);
      await expect(other.answers).toHaveCount(1);
      await console.send("once more");
      for (const tab of [console, other]) {
        await expect(tab.page.getByRole("article", { name: "You" }).last()).toContainText("once more");
        await expect(tab.answers).toHaveCount(2);
        await expect(tab.text).toHaveText(WHOLE);
        await tab.expectIdle();
      }
    });
  }

  for (const mode of isFull ? MODES : (["sse", "ai-sdk-ws"] as const)) {
    test(`stop ends the answer: ${mode}`, async ({ console, page }) => {
      await console.open(mode);
      await console.send("go on");
      await expect(console.text).toHaveText(["The first half,"]);
      await page.getByRole("button", { name: "Stop", exact: true }).click();
      await console.expectIdle();
      await page.reload();
      await expect(console.text).toHaveText(["The first half,"]);
      await console.expectIdle();
    });
  }
});

test.describe("a server with keys", () => {
  const hash = createHash("sha256").update("open-sesame").digest("hex");
  const config = `[[auth.keys]]\nkey_sha256 = "${hash}"\nsubject = "alice"\n`;
  test.use({
    setup: {
      args: ["--config", scratchFile("keys.toml", config)],
      allowed: [/status of 401/, /WebSocket connection/],
    },
  });

  for (const mode of isFull ? MODES : (["live"] as const)) {
    test(`is asked for its key once: ${mode}`, async ({ console, page }) => {
      await console.visit(mode);
      const dialog = page.getByRole("dialog", { name: /requires an API key/ });
      await dialog.getByLabel("API key").fill("wrong");
      await dialog.getByRole("button", { name: "Continue" }).click();
      await expect(dialog).toContainText("not accepted");
      await dialog.getByLabel("API key").fill("open-sesame");
      await dialog.getByRole("button", { name: "Continue" }).click();
      await expect(dialog).toHaveCount(0);
      await console.send(HANAKO);
      await console.approve(console.card("process_payment"));
      await console.expectState(console.card("process_payment"), "output-available");
      await page.reload();
      await console.expectState(console.card("process_payment"), "output-available");
      await expect(dialog).toHaveCount(0);
    });
  }
});

test.describe("a failing ack", () => {
  test.use({ setup: { allowed: [/status of 404.*ack/] } });

  test("is shown on the card, and Open tries again", async ({ console, page }) => {
    let refusals = 0;
    await page.route("**/api/tools/ack", async (route) => {
      if (refusals++ === 0) await route.fulfill({ status: 404, json: { ok: false, reason: "unknown" } });
      else await route.continue();
    });
    await console.open("sse");
    await console.send("open https://example.com");
    const card = console.card("open-url");
    await expect(card.getByRole("alert")).toContainText("does not know this call");
    await console.expectState(card, "input-available");
    await page.getByRole("button", { name: "Close the panel" }).click();
    await card.getByRole("button", { name: "Open", exact: true }).click();
    await console.expectState(card, "output-available");
    await expect(card.getByRole("alert")).toHaveCount(0);
    await expect(page.locator("iframe")).toBeVisible();
  });
});

test.describe("an answer here and one in the inbox, for two approval requests of the same step", () => {
  for (const mode of isFull ? (["sse", "ai-sdk"] as const) : (["sse"] as const)) {
    test(mode, async ({ console, newTab }) => {
      await console.open(mode);
      await console.send("Aliceに30ドル、Bobに40ドル送金してください");
      const cards = console.card("process_payment");
      await console.expectState(cards.last(), "approval-requested");
      await console.approve(cards.first());

      const other = await newTab();
      await other.open("sse", undefined, { dock: "approvals" });
      const items = other.page.getByRole("region", { name: /^Approval: Send a payment/ });
      const bob = items.filter({ has: other.page.getByRole("row", { name: "recipient Bob" }) });
      await bob.getByRole("button", { name: /^Approve/ }).click();

      await console.expectState(cards.first(), "output-available");
      await console.expectState(cards.last(), "output-available");
      await console.expectIdle();
    });
  }
});

test("the inbox approves, and the tab with the chat runs what is the browser's", async ({
  console,
  context,
  server,
  newTab,
}) => {
  await context.grantPermissions(["geolocation"], { origin: server.url });
  await context.setGeolocation({ latitude: 35.6812, longitude: 139.7671 });
  await console.open("sse");
  await console.send("where am I");
  await console.expectState(console.card("get_location"), "approval-requested");
  const other = await newTab();
  await other.open("sse", undefined, { dock: "approvals" });
  const item = other.page.getByRole("region", { name: /^Approval: / });
  await item.getByRole("button", { name: /^Approve/ }).click();
  await console.expectState(console.card("get_location"), "output-available");
  await expect(console.text).not.toBeEmpty();
  await console.expectIdle();
});

test.describe("a reload while the browser is asked", () => {
  for (const mode of isFull ? MODES : (["ai-sdk"] as const)) {
    test(`runs the approved call after all: ${mode}`, async ({ console, context, server, page }) => {
      await context.grantPermissions(["geolocation"], { origin: server.url });
      await context.setGeolocation({ latitude: 35.6812, longitude: 139.7671 });
      // The first page never gets its location.
      await page.addInitScript(() => {
        if (location.protocol !== "http:" || sessionStorage.getItem("asked") !== null) return;
        navigator.geolocation.getCurrentPosition = () => sessionStorage.setItem("asked", "yes");
      });
      await console.open(mode);
      await console.send("where am I");
      const card = console.card("get_location");
      await console.approve(card);
      await page.waitForFunction(() => sessionStorage.getItem("asked") !== null);
      await page.reload();
      // The approval was already in force: nobody has to approve again.
      await console.expectState(card, "output-available");
      await expect(card).toContainText("Approved by local");
      await expect(console.text).not.toBeEmpty();
      await console.expectIdle();
    });
  }
});

test("chats are listed, opened and deleted", async ({ console, page }) => {
  await console.open("sse");
  await console.send("what's the weather in Tokyo");
  await console.expectIdle();
  await page.getByRole("button", { name: "New chat" }).click();
  await expect(console.answers).toHaveCount(0);
  await console.send("play track 1");
  await console.expectIdle();
  const list = page.getByRole("navigation", { name: "Chats" });
  await expect(list.getByRole("listitem")).toHaveCount(2);
  await list.getByRole("button", { name: /^what's the weather/ }).click();
  await expect(console.text).toContainText("Tokyo");
  await page.goBack();
  await expect(console.card("change_bgm")).toBeVisible();
  await list.getByRole("button", { name: /^Delete chat play/ }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
  await expect(list.getByRole("listitem")).toHaveCount(1);
  await expect(page.getByRole("heading", { name: /needs a yes/ })).toBeVisible();
});
