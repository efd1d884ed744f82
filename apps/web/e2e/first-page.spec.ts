import { gzipSync } from "node:zlib";
import type { Page, Route } from "@playwright/test";
import { expect, test } from "./test";

const FIRST_PAGE_KB = 150;

/** Scripts that the page loads by itself are answered when `release` is called. Counts what came before. */
async function holdBack(page: Page) {
  let named = "";
  let release = () => {};
  const isReleased = new Promise<void>((resolve) => {
    release = resolve;
  });
  const held: string[] = [];
  const sizes: Promise<number>[] = [];
  page.on("response", (response) => {
    const kind = response.request().resourceType();
    if (["document", "script", "stylesheet"].includes(kind))
      sizes.push(response.body().then((body) => gzipSync(body, { level: 9 }).length));
  });
  await page.route("**/assets/*.js", async (route) => {
    const { pathname, origin } = new URL(route.request().url());
    named ||= await (await fetch(`${origin}/`)).text();
    if (!named.includes(pathname)) {
      held.push(pathname);
      await isReleased;
    }
    await route.continue();
  });
  const kilobytes = async () => (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0) / 1024;
  return { held, release, kilobytes };
}

test("the first page is small, and complete without the rest", async ({ console, page }) => {
  const { held, release, kilobytes } = await holdBack(page);
  const resumed: string[] = [];
  page.on("request", (request) => {
    if (request.method() === "GET" && request.url().endsWith("/stream")) resumed.push(request.url());
  });
  await console.open("sse");
  await expect(page.getByRole("list", { name: "Things to try" })).toBeVisible();
  await expect(console.composer).toBeFocused();
  await expect.poll(() => held.length).toBeGreaterThan(0);
  const size = await kilobytes();
  expect(size).toBeGreaterThan(50);
  expect(size).toBeLessThan(FIRST_PAGE_KB);

  // Somebody is faster than the rest: the message waits in its field, which is never another one.
  const field = await console.composer.elementHandle();
  await console.composer.fill("hello");
  await console.composer.press("Enter");
  await expect(console.composer).not.toBeEditable();
  await expect(console.composer).toHaveValue("hello");
  await expect(page.getByRole("article")).toHaveCount(0);
  release();
  await expect(console.answers).toHaveCount(1);
  await console.expectIdle();
  await expect(page.getByRole("article", { name: "You", exact: true })).toHaveCount(1);
  // A new chat has nothing to resume: its first response would be read twice.
  expect(resumed).toEqual([]);
  await expect(console.composer).toHaveValue("");
  await expect(console.composer).toBeFocused();
  expect(await console.composer.evaluate((element, before) => element === before, field)).toBe(true);
});

test("a chat is written to while it is loaded", async ({ console, page }) => {
  await console.open("sse");
  await console.send("hello");
  await console.expectIdle();
  const { held, release } = await holdBack(page);
  await page.reload();
  await expect.poll(() => held.length).toBeGreaterThan(0);
  await console.composer.pressSequentially("and then");
  await console.composer.press("ArrowLeft");
  release();
  await expect(console.answers).toHaveCount(1);
  await console.composer.pressSequentially("!");
  await expect(console.composer).toHaveValue("and the!n");
});

test.describe("a part", () => {
  test.use({ setup: { allowed: [/net::ERR_|Failed to load resource|WebSocket connection to|Failed to fetch/] } });

  const INSPECTOR = "**/assets/InspectorPanel-*.js";
  const REMOVED = "**/assets/{conversation,InspectorPanel,InboxPage}-*.js";
  const gone = (route: Route) => route.fulfill({ status: 404, contentType: "application/problem+json", body: "{}" });

  test("is there in an outage, when nothing was in a hurry before", async ({ console, context, page }) => {
    // The last one.
    const all = page.waitForResponse(/\/assets\/StatusPage-/);
    await console.open("sse");
    await (await all).finished();
    await context.setOffline(true);
    await page.getByRole("button", { name: "Inspector" }).click();
    await expect(page.getByRole("tabpanel", { name: "Inspector" })).toContainText("No traffic yet");
  });

  test("that an outage came before is loaded when the server is back", async ({ console, context, page }) => {
    let tries = 0;
    await page.route(INSPECTOR, (route) => {
      tries++;
      return route.abort();
    });
    await console.open("sse");
    await expect.poll(() => tries).toBeGreaterThan(0);
    await expect(page.getByRole("alert")).toHaveCount(0);
    await context.setOffline(true);
    await page.getByRole("button", { name: "Inspector" }).click();
    const panel = page.getByRole("tabpanel", { name: "Inspector" });
    await expect(panel.getByRole("alert")).toContainText("The server does not respond");
    const again = panel.getByRole("button", { name: "Load again" });
    await again.press("Enter");
    await expect(again).toBeFocused();
    await expect(again).toHaveAttribute("aria-disabled", "false");
    await expect(panel.getByRole("alert")).toContainText("The server does not respond");

    await page.unroute(INSPECTOR);
    await context.setOffline(false);
    await again.press("Enter");
    await expect(panel).toContainText("No traffic yet");
    await expect(panel.getByRole("alert")).toHaveCount(0);
    await expect(panel).toBeFocused();
  });

  test("that an update has removed asks for another page, and a message is kept", async ({ console, page }) => {
    await page.route(REMOVED, gone);
    await console.open("sse");
    await page.getByRole("link", { name: "Inbox" }).click();
    await expect(page.getByRole("heading", { name: "Inbox" })).toBeVisible();
    await expect(page.getByRole("main").getByRole("alert")).toContainText("may have been updated");
    await page.goBack();
    await console.composer.fill("send 50 dollars to Hanako");
    await page.getByRole("button", { name: "Inspector" }).click();
    const panel = page.getByRole("tabpanel", { name: "Inspector" });
    await expect(panel.getByRole("alert")).toContainText("may have been updated");

    // The rest of the page goes on, and what can't be sent stays.
    await console.composer.press("Enter");
    await expect(page.getByRole("main").getByRole("alert")).toContainText("may have been updated");
    await expect(console.composer).toHaveValue("send 50 dollars to Hanako");
    await expect(console.composer).toBeEditable();
    await page.unroute(REMOVED);
    await page.getByRole("main").getByRole("button", { name: "Reload the page" }).click();
    await expect(page.getByRole("list", { name: "Things to try" })).toBeVisible();
    await expect(console.composer).toHaveValue("send 50 dollars to Hanako");
    await console.composer.press("Enter");
    await console.expectState(console.card("process_payment"), "approval-requested");
    await expect(panel).toContainText("process_payment");
  });
});
