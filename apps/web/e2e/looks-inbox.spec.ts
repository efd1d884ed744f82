import { fileURLToPath } from "node:url";
import { expectStill } from "./axe";
import { expect, pay, test } from "./payments";
import { api } from "./people";
import { expectNoOverflow } from "./screens";

const folder = fileURLToPath(new URL("./screenshots/", import.meta.url));

const LOOKS = {
  light: { viewport: { width: 1440, height: 900 }, colorScheme: "light" },
  dark: { viewport: { width: 1440, height: 900 }, colorScheme: "dark" },
  "phone-light": { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, colorScheme: "light" },
  "phone-dark": { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, colorScheme: "dark" },
} as const;

for (const [name, contextOptions] of Object.entries(LOOKS)) {
  test.describe(name, () => {
    test.use({ contextOptions, memoLines: 60 });

    test(`what has ended, what failed, what is left out and what a grant lets through, ${name}`, async ({
      ask,
      idOf,
      inboxOf,
      ledger,
      server,
    }) => {
      // Nine states, each judged by axe.
      test.slow();
      await ask(1, 2, 3, 4);
      const ids = [await idOf(1), await idOf(2), await idOf(3)];
      const isPhone = name.startsWith("phone");
      const bob = await inboxOf("bob");
      const { page } = bob;
      const look = async (what: string) => {
        await expectStill(page);
        await expectNoOverflow(page);
        await page.screenshot({ path: `${folder}receipts-${name}-${what}.png`, animations: "disabled" });
        await bob.expectNoFindings();
      };
      await bob.row(pay(2)).click();
      await expect(bob.pane.getByRole("heading", { name: pay(2), level: 2 })).toBeVisible();
      const denied = { approved: false, reason: "The invoice was paid in October." };
      expect(await api(server.api, "carol").decide(ids[1] ?? "", denied)).toBe(200);
      await expect(bob.pane).toContainText("Denied by carol");
      await look("1-ended");

      await bob.pane.getByRole("button", { name: /^Next request/ }).click();
      await expect(bob.pane.getByRole("heading", { name: pay(3), level: 2 })).toBeVisible();
      await bob.readAll();
      await bob.pane.getByLabel("Remember my approval").check();
      await bob.pane.getByLabel("What").selectOption("tool");
      await look("2-grant-wide");
      await bob.pane.getByLabel("Where").selectOption("subject");
      await bob.pane.getByLabel(/^For/).selectOption("always");
      await look("3-grant-unlimited");
      const approve = bob.pane.getByRole("button", { name: /^Approve and remember…/ });
      await expect(approve).not.toHaveAttribute("aria-disabled", "true");
      await approve.click();
      await look("4-grant-confirm");
      ledger.answerWith(500);
      const send = bob.pane.getByRole("button", { name: /^Approve, and never ask again/ });
      await expect(send).not.toHaveAttribute("aria-disabled", "true");
      await send.click();
      await expect(bob.results).toHaveText([/Failed: .*500.*A grant was made/]);
      await look("5-failed");

      if (isPhone) await page.goBack();
      await bob.tick(pay(1), pay(4));
      await page.getByRole("button", { name: "Approve…" }).click();
      await expect(page.getByRole("dialog", { name: "Approve 0 of 2 requests?" })).toBeVisible();
      await look("6-left-out");
      await page.keyboard.press("Escape");

      await bob.open(`/hold/${ids[2]}`);
      await expect(bob.pane.locator(".pill")).toHaveText("Failed");
      await look("7-hold-failed");
      await bob.open(`/hold/${ids[1]}`);
      await expect(bob.pane.locator(".pill")).toHaveText("Denied");
      await look("8-hold-denied");
      await bob.open("/inbox/history");
      await expect(page.getByRole("list", { name: "My decisions" })).toContainText("Failed");
      await look("9-history");
      expect(ledger.runs).toHaveLength(1);
    });
  });
}
