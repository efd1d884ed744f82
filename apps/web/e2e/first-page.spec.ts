import { gzipSync } from "node:zlib";
import type { Page } from "@playwright/test";
import { expect, expectNothingToDo, test } from "./test";

/** What a page loads from now on: the names of its files, and how large they are when they are compressed. */
function loads(page: Page) {
  const files = new Map<string, Promise<number>>();
  page.on("response", (response) => {
    const kind = response.request().resourceType();
    if (!["document", "script", "stylesheet"].includes(kind)) return;
    const size = response.body().then((body) => gzipSync(body, { level: 9 }).length);
    files.set(new URL(response.url()).pathname, size);
  });
  return {
    has: (part: string) => [...files.keys()].some((name) => name.startsWith(`/assets/${part}-`)),
    kilobytes: async () => (await Promise.all(files.values())).reduce((sum, size) => sum + size, 0) / 1024,
  };
}

test("the first page is small, and loads the rest when it is needed", async ({ console, page }) => {
  const loaded = loads(page);
  await console.open("sse");
  await expect(page.getByRole("list", { name: "Things to try" })).toBeVisible();
  await expectNothingToDo(page);
  expect(await loaded.kilobytes()).toBeLessThan(150);
  expect(await loaded.kilobytes()).toBeGreaterThan(50);

  // Somebody writes: what is needed to send it is loaded meanwhile, and the field stays.
  await console.composer.pressSequentially("h");
  await expect.poll(() => loaded.has("Session")).toBe(true);
  await console.composer.pressSequentially("ello");
  await expect(console.composer).toHaveValue("hello");
  await console.composer.press("Enter");
  await expect(console.answers).toHaveCount(1);
  await console.expectIdle();
  await expect(console.composer).toHaveValue("");
  await expect(console.composer).toBeFocused();

  expect(loaded.has("InspectorPanel")).toBe(false);
  await page.getByRole("button", { name: "Inspector" }).click();
  await expect(page.getByRole("tabpanel", { name: "Inspector" })).toContainText("[DONE]");
  expect(loaded.has("InspectorPanel")).toBe(true);
  for (const part of ["InboxPage", "StatusPage"]) expect(loaded.has(part)).toBe(false);
});

test.describe("a part that can't be loaded", () => {
  test.use({ setup: { allowed: [/net::ERR_|could not be loaded/] } });

  test("says so, and loses nothing that was written", async ({ console, page }) => {
    await page.route("**/assets/{Session,InspectorPanel}-*.js", (route) => route.abort());
    await console.open("sse", undefined, { dock: "inspector" });
    const panel = page.getByRole("tabpanel", { name: "Inspector" });
    await expect(panel.getByRole("alert")).toContainText("could not be loaded");
    await console.composer.fill("send 50 dollars to Hanako");
    await console.composer.press("Enter");
    const trouble = page.getByRole("main").getByRole("alert");
    await expect(trouble).toContainText("could not be loaded");
    await page.unrouteAll();
    await trouble.getByRole("button", { name: "Reload the page" }).click();
    await expect(console.composer).toHaveValue("send 50 dollars to Hanako");
    await console.composer.press("Enter");
    await console.expectState(console.card("process_payment"), "approval-requested");
  });
});
