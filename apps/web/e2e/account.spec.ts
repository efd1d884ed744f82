import { createHash } from "node:crypto";
import { expectNoFindings } from "./axe";
import { scratchFile } from "./scratch";
import { expect, test } from "./test";

function entry(key: string, more: string): string {
  return `[[auth.keys]]\nkey_sha256 = "${createHash("sha256").update(key).digest("hex")}"\n${more}\n`;
}

test.describe("a server with keys", () => {
  const config = [
    entry("key-of-ann-0123456789", 'subject = "ann"'),
    entry("key-of-carol-0123456789", 'subject = "carol"\nroles = ["user", "approver"]\ngroups = ["finance"]'),
  ].join("\n");
  test.use({ setup: { args: ["--config", scratchFile("people.toml", config)], allowed: [/status of 401/] } });

  test("shows who is signed in, and forgets them when they sign out", async ({ console, page }) => {
    const signIn = async (key: string) => {
      const dialog = page.getByRole("dialog", { name: /requires an API key/ });
      await dialog.getByLabel("API key").fill(key);
      await dialog.getByRole("button", { name: "Continue" }).click();
      await expect(dialog).toHaveCount(0);
    };
    await console.visit("sse");
    const account = page.locator(".account");
    await expect(page.getByRole("dialog", { name: /requires an API key/ })).toBeVisible();
    await expect(account).toHaveCount(0);

    await signIn("key-of-carol-0123456789");
    await expect(account).toHaveText("caroluser, approver");
    await expect(account).toHaveAttribute("title", "Groups: finance.");
    await expectNoFindings(page, { include: ".sidebar" });

    await console.send("What is the weather in Paris?");
    const chats = page.getByRole("navigation", { name: "Chats" });
    await expect(chats.getByText("What is the weather in Paris?")).toBeVisible();
    await console.composer.fill("a secret draft");
    await page.getByRole("button", { name: "Sign out" }).click();

    await expect(page.getByRole("dialog", { name: /requires an API key/ })).toBeVisible();
    await expect(account).toHaveCount(0);
    await expect(page.getByText("What is the weather in Paris?")).toHaveCount(0);
    const kept = await page.evaluate(() => Object.keys(sessionStorage).filter((name) => name.startsWith("holdpoint-")));
    expect(kept).toEqual([]);
    // Nor does a reload sign her in again.
    await page.reload();
    await expect(page.getByRole("dialog", { name: /requires an API key/ })).toBeVisible();

    await signIn("key-of-ann-0123456789");
    await expect(account).toHaveText("annuser");
    await expect(page.getByText("What is the weather in Paris?")).toHaveCount(0);
    await expect(console.composer).toHaveValue("");
  });
});

test("a server without keys says so by its name, and there is nothing to sign out of", async ({ console, page }) => {
  await console.open("sse");
  await expect(page.locator(".account")).toHaveText("localuser, approver, admin");
  await expect(page.getByRole("button", { name: "Sign out" })).toHaveCount(0);
});
