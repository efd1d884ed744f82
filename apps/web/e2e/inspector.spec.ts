import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { binary } from "../../../tests/support/server.mjs";
import { isFull } from "../playwright.config";
import { MODE_INFO, MODES } from "../src/modes";
import { expect, test } from "./test";

for (const mode of isFull ? MODES : (["live", "ai-sdk"] as const)) {
  test(`what is downloaded passes the checker, and can be replayed: ${mode}`, async ({ console, page }, info) => {
    await console.open(mode, undefined, { dock: "inspector" });
    await console.send("send 50 dollars to Hanako");
    const card = console.card("process_payment");
    await console.expectState(card, "approval-requested");
    const panel = page.getByRole("tabpanel", { name: "Inspector" });
    // A page that reads the chat again in that moment, as one may on a busy machine, gets the request once more.
    await expect(panel.getByRole("listitem").filter({ hasText: "tool-approval-request" }).first()).toBeVisible();
    await console.approve(card);
    await console.expectIdle();
    await console.expectState(card, "output-available");
    await expect(panel.getByRole("img", { name: /Human \d/ })).toBeVisible();
    await expect(panel.locator(".verdict")).toHaveAttribute("data-verdict", /clean|unavailable/);

    const downloading = page.waitForEvent("download");
    await panel.getByRole("button", { name: "Download" }).click();
    const file = info.outputPath("capture.sse");
    await (await downloading).saveAs(file);
    expect(readFileSync(file, "utf8")).toContain("tool-output-available");
    const { profile } = MODE_INFO[mode];
    const text = profile === "ai-sdk" ? [] : ["--text", "progressive"];
    // Throws with the checker's output if a rule is violated.
    execFileSync(binary(), ["check", "--profile", profile, ...text, file], { encoding: "utf8" });

    await panel.locator('input[type="file"]').setInputFiles(file);
    await panel.getByRole("button", { name: "To the end" }).click();
    const replayed = panel.locator(".replay__message");
    await expect(replayed.locator('[data-tool="process_payment"]')).toHaveAttribute("data-state", "output-available");
    await expect(replayed.locator(".markdown")).toContainText("Hanako");
    await expect(replayed.getByRole("button", { name: /^(Approve|Deny)/ })).toHaveCount(0);
    await panel.getByRole("button", { name: "Close the replay" }).click();
    await expect(replayed).toHaveCount(0);
  });
}

test("a file that is not a capture is refused with a reason", async ({ console, page }) => {
  await console.open("sse", undefined, { dock: "inspector" });
  const panel = page.getByRole("tabpanel", { name: "Inspector" });
  await panel
    .locator('input[type="file"]')
    .setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("hello") });
  await expect(panel.getByRole("alert")).toContainText("notes.txt has no chunks");
});
