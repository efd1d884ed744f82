import type { Page } from "@playwright/test";
import { expectNoFindings } from "./axe";
import { SCREENS, screens } from "./screens";
import { configured, gatedTool, scripted } from "./scripts";
import { expect, test } from "./test";

const RLO = "\u202e";
const HOSTILE = {
  environment: "pro\u200bduction",
  "environment\u200b": "staging",
  "\u0430mount": 1,
  amount: 1000,
  recipient: `Alice ${RLO}boB`,
  note: "line one\nline two\u00ad\u{e0041}",
  nested: { [`${RLO}yek`]: ["\ufeffx", { "a\u2066b": "\u2028" }], more: "x".repeat(70) },
};
const input = HOSTILE as unknown as Record<string, unknown>;

test.use({
  setup: {
    args: [
      ...configured(
        gatedTool("deploy", undefined, { title: `Deploy ${RLO}esaeler`, description: `Puts\u200b it out` }),
      ),
      ...scripted(
        [{ text: [`I will ${RLO}deploy &#x202e; **now\u200b**`] }, { toolCall: { name: "deploy", input } }],
        [{ text: ["done\u2066"] }],
      ),
    ],
  },
});

/** Every text and attribute in the document that contains an invisible character. */
function hidden(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const pattern = /[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/u;
    const found: string[] = [document.title].filter((text) => pattern.test(text));
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      if (node instanceof Text && pattern.test(node.data)) found.push(`${node.parentElement?.className}: ${node.data}`);
      if (!(node instanceof Element)) continue;
      for (const { name, value } of node.attributes) if (pattern.test(value)) found.push(`@${name}: ${value}`);
    }
    return found;
  });
}

for (const screen of screens("desktop", "phone")) {
  test.describe(screen, () => {
    test.use(SCREENS[screen]);

    test(`nothing is hidden in a card, the inbox, the chat's name or a reason, ${screen}`, async ({
      console,
      page,
    }) => {
      await console.open("ai-sdk");
      await console.send(`deploy ${RLO}won`);
      const card = console.card("deploy");
      await expect(card.getByRole("button", { name: /^Approve/ })).toBeVisible();
      await expect(card.getByRole("heading")).toContainText("U+202E");
      await expect(card).toContainText("pro\u200bduction".replace("\u200b", "U+200B"));
      await expect(card.getByRole("row", { name: /environment ?U\+200B/ })).toContainText("staging");
      // Two keys that look alike can be told apart.
      await expect(card.getByRole("row", { name: /U\+0430/ })).toContainText("1");
      await expect(card.getByRole("row", { name: /^amount 1000/ })).toHaveCount(1);
      // A line break is visible.
      await expect(card.getByRole("row", { name: /^note/ })).toContainText("↵");
      await expect(console.text.first()).toContainText("U+202E");
      expect(await hidden(page)).toEqual([]);
      // Direction: text after an override stays where it was written.
      await expect(card.locator("bdi").first()).toHaveCSS("unicode-bidi", "isolate");

      await page.getByRole("button", { name: /^Approvals/ }).click();
      const item = page.getByRole("region", { name: /^Approval: Deploy/ });
      await expect(item).toContainText("U+200B");
      expect(await hidden(page)).toEqual([]);
      await expectNoFindings(page);
      await page.getByRole("button", { name: "Close the panel" }).click();

      await console.deny(card, `no ${RLO}yaw`);
      await expect(card).toContainText("Denied");
      await expect(card).toContainText("no U+202E");
      await expect(console.text.last()).toContainText("done");
      expect(await hidden(page)).toEqual([]);

      await page.getByRole("button", { name: "Inspector" }).click();
      const panel = page.getByRole("tabpanel", { name: "Inspector" });
      await panel.getByRole("listitem").filter({ hasText: "tool-input-available" }).locator(".chunk__line").click();
      await expect(panel.locator(".chunk__raw")).toContainText("\\u202e");
      expect(await hidden(page)).toEqual([]);
    });
  });
}
