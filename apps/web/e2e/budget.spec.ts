import { fileURLToPath } from "node:url";
import { scratchFile } from "./scratch";
import { test as base, expect } from "./test";

const folder = fileURLToPath(new URL("./screenshots/", import.meta.url));
const weather = (location: string) => ({ toolCall: { name: "get_weather", input: { location } } });
const script = {
  turns: [
    {
      usage: { promptTokens: 700, completionTokens: 300 },
      steps: [[weather("Rome")], [weather("Oslo")], [{ text: ["Rome is warmer."] }]],
    },
  ],
};

/** Each step uses the budget of a turn. */
const test = base.extend({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern here
  setup: async ({}, use) =>
    use({
      args: ["--model", `script:${scratchFile("budget.json", JSON.stringify(script))}`],
      env: { HOLDPOINT_MODEL__TURN_TOKEN_BUDGET: "1000" },
    }),
});

test("a budget that is used up is a question to the user, not one of the assistant", async ({ console, page }) => {
  await console.open("ai-sdk");
  await console.send("Compare the weather");
  const cards = page.locator('[data-tool="continue_turn"]');
  await expect(cards).toHaveCount(1);
  await expect(cards.first()).toContainText("Go on, with 1000 more tokens for this answer?");
  await expect(cards.first()).toContainText("This answer has used 1000 tokens, and 1000 were allowed.");
  await expect(page.getByText("May the assistant do this?")).toHaveCount(0);
  await page.screenshot({ path: `${folder}budget.png`, animations: "disabled" });
  await cards
    .first()
    .getByRole("button", { name: /^Approve/ })
    .click();
  await expect(cards).toHaveCount(2);
  await expect(cards.nth(1)).toContainText("This answer has used 2000 tokens, and 2000 were allowed.");

  await cards.nth(1).getByRole("button", { name: /^Deny/ }).click();
  // The model makes no further step, so it is told nothing.
  await expect(cards.nth(1).getByLabel(/Why not\?/)).toHaveAccessibleName(/It is recorded/);
  await cards
    .nth(1)
    .getByLabel(/Why not\?/)
    .fill("enough");
  await page.keyboard.press("Enter");
  await expect(cards.nth(1)).toHaveAttribute("data-call-state", "settled");
  await console.expectIdle();
  await expect(page.getByText("Rome is warmer.")).toHaveCount(0);
  await expect(page.getByText("The assistant was told")).toHaveCount(0);
  // The turn is over: there is nothing to continue.
  await page.reload();
  await expect(cards).toHaveCount(2);
  await expect(page.getByRole("button", { name: "Continue" })).toHaveCount(0);
  await page.screenshot({ path: `${folder}budget-denied.png`, animations: "disabled" });
});
