import { isFull } from "../playwright.config";
import { MODES, type Mode } from "../src/modes";
import { FLOWS, type Flow } from "./flows";
import { expect, test } from "./test";

// In the short run each flow has one mode, so that every mode is covered by several flows.
function modesOf(flow: Flow, index: number): readonly Mode[] {
  if (isFull || flow.everywhere) return MODES;
  return [MODES[index % MODES.length] ?? "sse"];
}

for (const [index, flow] of FLOWS.entries()) {
  for (const mode of modesOf(flow, index)) {
    test(`${flow.name}, ${mode}`, async ({ console, context, server, page }) => {
      if (flow.geolocation === "granted") {
        await context.grantPermissions(["geolocation"], { origin: server.url });
        await context.setGeolocation({ latitude: 35.6812, longitude: 139.7671, accuracy: 12 });
      } else if (flow.geolocation === "refused") {
        const devtools = await context.newCDPSession(page);
        await devtools.send("Browser.setPermission", {
          permission: { name: "geolocation" },
          setting: "denied",
          origin: server.url,
        });
      }
      await console.open(mode);
      await flow.play(console);
      await console.expectIdle();
      // One message, one answer: nothing was sent, requested or written twice.
      await expect(console.answers).toHaveCount(1);

      // The page shows what is stored: a reload shows the same.
      const said = await console.text.allInnerTexts();
      await page.reload();
      await expect(console.text.first()).toBeVisible();
      expect(await console.text.allInnerTexts()).toEqual(said);
    });
  }
}
