import { createHash } from "node:crypto";
import type { Locator, Page } from "@playwright/test";
import { isFull } from "../playwright.config";
import { expectNoFindings } from "./axe";
import { scratchFile } from "./scratch";
import { scripted } from "./scripts";
import { expect, test } from "./test";

const WEATHER = "what's the weather in Tokyo";

function panelOf(page: Page): Locator {
  return page.getByRole("tabpanel", { name: "Inspector" });
}

/** How many records the inspector says that it lists. */
async function count(page: Page): Promise<number> {
  const text = await panelOf(page).getByRole("search").getByRole("status").innerText();
  return Number(/^\d+/.exec(text)?.[0]);
}

function rows(page: Page): Locator {
  return panelOf(page).getByRole("list", { name: "Records" }).getByRole("listitem");
}

test.describe("ten thousand chunks", () => {
  const CHUNKS = 10_000;
  test.use({
    setup: {
      args: scripted([{ text: Array.from({ length: CHUNKS }, (_, at) => `${at}${at % 100 === 99 ? "\n\n" : " "}`) }]),
    },
  });
  test.setTimeout(240_000);

  test("are a few rows in the document, and all within reach of the keyboard", async ({ console, page }) => {
    await console.open("sse");
    await console.send("count");
    await expect(console.text).toContainText("9999", { timeout: 150_000 });
    await console.expectIdle();
    await page.getByRole("button", { name: "Inspector" }).click();
    await expect.poll(() => count(page)).toBeGreaterThan(CHUNKS);
    const total = await count(page);
    // It follows the end.
    await expect(rows(page).last()).toHaveAttribute("aria-posinset", String(total));
    await expect(rows(page).last()).toBeInViewport({ ratio: 0.9 });
    expect(await rows(page).count()).toBeLessThan(80);

    const list = panelOf(page).getByRole("list", { name: "Records" });
    await rows(page).last().getByRole("button").focus();
    const began = Date.now();
    await page.keyboard.press("Home");
    await expect(rows(page).first()).toHaveAttribute("aria-posinset", "1");
    await expect(rows(page).first().getByRole("button")).toBeFocused();
    await page.keyboard.press("ArrowDown");
    await expect(list.locator('[aria-posinset="2"]').getByRole("button")).toBeFocused();
    await page.keyboard.press("End");
    await expect(list.locator(`[aria-posinset="${total}"]`).getByRole("button")).toBeFocused();
    await expect(rows(page).last()).toBeInViewport({ ratio: 0.9 });
    // A list with all of them takes many times as long.
    expect(Date.now() - began).toBeLessThan(5_000);
    // Whoever scrolls away right after a key is not taken back, not even by a line that appears above the list (the
    // verdict does), and the focus survives out of view.
    for (const framesLater of [0, 1, 2, 3]) {
      await list.evaluate((element) => element.parentElement?.scrollTo({ top: 0 }));
      await expect(rows(page).first()).toHaveAttribute("aria-posinset", "1");
      await list.evaluate((element, frames) => {
        const scrollAway = async () => {
          const line = Object.assign(document.createElement("div"), { style: "height: 52px" });
          for (let frame = 0; frame < frames; frame++) await new Promise(requestAnimationFrame);
          element.parentElement?.before(line);
          element.parentElement?.scrollTo({ top: 0 });
          for (let frame = 0; frame < 30; frame++) await new Promise(requestAnimationFrame);
          line.remove();
          document.documentElement.dataset.scrolled = String(frames);
        };
        addEventListener("keyup", scrollAway, { once: true });
      }, framesLater);
      await page.keyboard.press("End");
      await expect(page.locator("html")).toHaveAttribute("data-scrolled", String(framesLater));
      await expect(rows(page).first(), `${framesLater} frames after the key`).toHaveAttribute("aria-posinset", "1", {
        timeout: 2_000,
      });
    }
    await expect(list.locator(`[aria-posinset="${total}"]`).getByRole("button")).toBeFocused();
    expect(await rows(page).count()).toBeLessThan(80);

    await panelOf(page).getByRole("searchbox", { name: "Filter by text" }).fill('"4321 ');
    await expect.poll(() => count(page)).toBe(1);
    await expect(rows(page)).toHaveCount(1);
    await rows(page).getByRole("button").click();
    await expect(rows(page).locator("pre")).toContainText("4321");
    await expectNoFindings(page, { include: ".inspector", isLegacy: true });

    await page.reload();
    await expect.poll(() => count(page), { timeout: 30_000 }).toBeGreaterThanOrEqual(total);
    expect(await rows(page).count()).toBeLessThan(80);
  });
});

for (const mode of isFull ? (["sse", "live"] as const) : (["live"] as const)) {
  test(`the recording survives a reload: ${mode}`, async ({ console, page }) => {
    await console.open(mode, undefined, { dock: "inspector" });
    await console.send(WEATHER);
    await console.expectIdle();
    await expect(rows(page).filter({ hasText: "[DONE]" })).toBeVisible();
    const before = await count(page);
    await page.reload();
    await expect(console.text).toContainText("Tokyo");
    await expect.poll(() => count(page)).toBeGreaterThan(before);
    await expect(rows(page).filter({ hasText: "page reloaded" })).toBeVisible();
    await panelOf(page).getByRole("combobox", { name: "Type" }).selectOption("tool-input-available");
    await expect(rows(page)).toHaveCount(1);
    await expect(rows(page)).toContainText("get_weather");

    // A new turn is recorded after what was kept, and what was kept is still there.
    await panelOf(page).getByRole("combobox", { name: "Type" }).selectOption("");
    await console.send(WEATHER);
    await console.expectIdle();
    await expect(panelOf(page)).toContainText("Turn 2 of 2");
    await expect(panelOf(page).locator(".verdict")).toHaveAttribute("data-verdict", /clean|unavailable/);
    await panelOf(page).getByRole("button", { name: "Clear the recording" }).click();
    await page.reload();
    await expect(console.text.last()).toContainText("Tokyo");
    await expect(panelOf(page)).not.toContainText("text-delta");
  });
}

test("a deleted chat takes its recording with it", async ({ console, page }) => {
  await console.open("sse", undefined, { dock: "inspector" });
  await console.send(WEATHER);
  await console.expectIdle();
  const { chatId } = console;
  const stored = () => page.evaluate((id) => sessionStorage.getItem(`holdpoint-recording ${id}`), chatId);
  await expect.poll(stored).toContain("text-delta");
  await page.getByRole("button", { name: /^Delete chat/ }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.getByRole("alertdialog")).toHaveCount(0);
  expect(await stored()).toBeNull();
});

test("it is said how many older records were dropped", async ({ console, page }) => {
  await console.open("sse", undefined, { dock: "inspector" });
  await console.send(WEATHER);
  await console.expectIdle();
  const name = `holdpoint-recording ${console.chatId}`;
  await expect.poll(() => page.evaluate((item) => sessionStorage.getItem(item), name)).toContain("[DONE]");
  // As if there had been more than fits.
  await page.evaluate((item) => {
    const { dropped: _, ...kept } = JSON.parse(sessionStorage.getItem(item) ?? "");
    sessionStorage.setItem(item, JSON.stringify({ ...kept, dropped: 7 }));
  }, name);
  await page.reload();
  await expect(panelOf(page).getByRole("note")).toHaveText("7 older records were dropped to save space.");
  await expect(panelOf(page).locator(".verdict")).toContainText("Not checked: the recording starts in the middle");
  await panelOf(page).getByRole("button", { name: "Clear the recording" }).click();
  await expect(panelOf(page).getByRole("note")).toHaveCount(0);
});

test("the list is filtered, and what is listed can be copied", async ({ console, context, page, server }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: server.url });
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  await console.open("sse", undefined, { dock: "inspector" });
  await console.send(WEATHER);
  await console.expectIdle();
  const panel = panelOf(page);
  await expect(rows(page).filter({ hasText: "[DONE]" })).toBeVisible();
  // The verdict takes room from the list, which stays at its end.
  await expect(panel.locator(".verdict")).toHaveAttribute("data-verdict", /clean|unavailable/);
  await expect(rows(page).last()).toBeInViewport({ ratio: 0.9 });
  const total = await count(page);

  await panel.getByRole("combobox", { name: "Direction" }).selectOption({ label: "Sent" });
  await expect(rows(page)).toHaveCount(1);
  await expect(rows(page)).toContainText("POST /stream");
  await panel.getByRole("combobox", { name: "Direction" }).selectOption({ label: "All directions" });
  await panel.getByRole("combobox", { name: "Type" }).selectOption("text-delta");
  const deltas = await count(page);
  expect(deltas).toBeGreaterThan(1);
  expect(deltas).toBeLessThan(total);
  await panel.getByRole("searchbox", { name: "Filter by text" }).fill("TOKYO");
  await expect(rows(page)).toHaveCount(1);
  await expect(panel.getByRole("search").getByRole("status")).toHaveText(`1 of ${total} records`);

  await panel.getByRole("button", { name: "Copy the list as NDJSON" }).click();
  await expect(panel.getByRole("button", { name: "Copied" })).toBeVisible();
  const lines = (await clipboard()).trimEnd().split("\n");
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ direction: "received", type: "text-delta" });
  await panel.getByRole("button", { name: "Copy the list as a capture" }).click();
  await expect.poll(clipboard).toMatch(/^: segment [\s\S]*\ndata: \{"type":"text-delta"[^\n]*Tokyo[^\n]*\n/);
  await rows(page).getByRole("button").first().click();
  await rows(page).getByRole("button", { name: "Copy this record" }).click();
  await expect.poll(clipboard).toMatch(/^\{"type":"text-delta".*Tokyo.*\}$/);
});

test.describe("what is sent", () => {
  const KEY = "open-sesame";
  const hash = createHash("sha256").update(KEY).digest("hex");
  const config = `[[auth.keys]]\nkey_sha256 = "${hash}"\nsubject = "alice"\n`;
  test.use({
    setup: {
      args: ["--config", scratchFile("keys.toml", config)],
      allowed: [/status of 401/, /WebSocket connection/],
    },
  });

  for (const mode of ["sse", "live"] as const) {
    test(`is shown, and no secret in it: ${mode}`, async ({ console, page }) => {
      // From the start: a chat connects as soon as there is a key.
      const tickets: string[] = [];
      page.on("response", async (response) => {
        if (response.ok() && response.url().endsWith("/api/ticket"))
          tickets.push(((await response.json()) as { ticket: string }).ticket);
      });
      await console.visit(mode, undefined, { dock: "inspector" });
      const dialog = page.getByRole("dialog", { name: /requires an API key/ });
      await dialog.getByLabel("API key").fill(KEY);
      await dialog.getByRole("button", { name: "Continue" }).click();
      await expect(dialog).toHaveCount(0);
      await console.send(`send 50 dollars to Hanako, and remember ${KEY}`);
      const card = console.card("process_payment");
      await console.approve(card);
      await console.expectIdle();
      await panelOf(page).getByRole("combobox", { name: "Direction" }).selectOption({ label: "Sent" });
      await expect(rows(page).filter({ hasText: "POST /api/approvals/" })).toContainText('{"approved":true}');
      const message = rows(page)
        .filter({ hasText: mode === "sse" ? "POST /stream" : "/live message" })
        .first();
      await expect(message).toContainText("remember •••");
      await message.getByRole("button").first().click();
      if (mode === "sse") await expect(message.locator("pre")).toContainText("authorization: •••");
      else await expect(rows(page).filter({ hasText: "WebSocket /live" }).last()).toContainText("ticket=•••");
      const texts = await panelOf(page).innerText();
      await page.reload();
      await expect.poll(() => count(page)).toBeGreaterThan(10);
      const stored = await page.evaluate(() =>
        Object.entries(sessionStorage).filter(([name]) => name.startsWith("holdpoint-recording ")),
      );
      expect(stored).toHaveLength(1);
      const recording: string = stored[0]?.[1] ?? "";
      const requests = recording.split('{"kind":"request"').slice(1);
      expect(requests.length).toBeGreaterThan(1);
      if (mode === "live") expect(tickets.length).toBeGreaterThan(0);
      for (const secret of [KEY, ...tickets]) {
        expect(texts.includes(secret)).toBe(false);
        expect(requests.filter((request) => request.split('{"kind":')[0]?.includes(secret))).toEqual([]);
      }
    });
  }
});
