import { fileURLToPath } from "node:url";
import { isFull } from "../playwright.config";
import { MODES } from "../src/modes";
import { scratchFile } from "./scratch";
import { expect, test } from "./test";

const server = fileURLToPath(new URL("../../../tests/mcp/fake.mjs", import.meta.url));
const config = `[[mcp]]\nname = "fake"\ncommand = ["node", ${JSON.stringify(server)}]\napproval = "never"\n`;
const call = { toolCall: { name: "fake_ask", input: {} } };
const script = { modelVersion: "asking", turns: [{ when: ".*", steps: [[call], [{ text: ["done"] }]] }] };

test.use({
  setup: {
    args: [
      ...["--config", scratchFile("mcp.toml", config)],
      ...["--model", `script:${scratchFile("asking.json", JSON.stringify(script))}`],
    ],
  },
});

for (const mode of isFull ? MODES : (["ai-sdk-ws"] as const)) {
  test(`an MCP server's prompt is answered after a reload: ${mode}`, async ({ console, page }) => {
    await console.open(mode);
    await console.send("go");
    const card = console.card("ask_user");
    await expect(card).toContainText("Who are you?");
    await page.reload();
    await card.getByRole("textbox", { name: "name" }).fill("Ada");
    await card.getByRole("button", { name: "Answer" }).click();
    await console.expectState(card, "output-available");
    await expect(card.getByRole("row", { name: "name" })).toContainText("Ada");
    await console.expectState(console.card("fake_ask"), "output-available");
    await expect(console.text).toContainText("done");
    await console.expectIdle();
    await expect(console.answers).toHaveCount(1);
  });
}
