import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { isFull } from "../playwright.config";
import { MODES } from "../src/modes";
import { test as base, expect } from "./test";

const folder = fileURLToPath(new URL("./screenshots/", import.meta.url));

interface Provider {
  url: string;
  /** Answers the requests that wait. */
  release: () => void;
}

/** A provider that is busy at first. The second request waits until the test releases it. */
const test = base.extend<{ provider: Provider }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern here
  provider: async ({}, use) => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let asked = 0;
    const server = createServer((request, response) => {
      request.resume();
      if (request.url !== "/api/chat") return response.writeHead(404).end();
      if (asked++ === 0) return response.writeHead(503, { "retry-after": "1" }).end("busy");
      return void released.then(() => {
        const line = (content: string, done: boolean) =>
          `${JSON.stringify({ model: "m", created_at: "2026-01-01T00:00:00Z", message: { role: "assistant", content }, done, ...(done && { done_reason: "stop" }) })}\n`;
        response.writeHead(200, { "content-type": "application/x-ndjson" });
        response.end(line("Good evening", false) + line("", true));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    await use({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, release });
    server.closeAllConnections();
    server.close();
  },
  setup: async ({ provider }, use) => use({ args: ["--model", "ollama:m"], env: { OLLAMA_HOST: provider.url } }),
});

for (const mode of isFull ? MODES : (["live", "ai-sdk"] as const)) {
  test(`a model that is asked again is said to be, until it answers: ${mode}`, async ({ console, page, provider }) => {
    await console.open(mode);
    await console.send("Hello");
    const note = page.locator(".message__delay");
    await expect(note).toContainText("Trying again in 1 second");
    await expect(page.getByTestId("delay")).toContainText("Trying again in 1 second");
    await page.screenshot({ path: `${folder}delay.png`, animations: "disabled" });
    // It is not part of the answer.
    await expect(console.answers.getByText("Trying again")).toHaveCount(0);

    provider.release();
    await expect(console.text).toHaveText("Good evening");
    await expect(note).toHaveCount(0);
    await expect(page.getByTestId("delay")).toBeEmpty();
    await console.expectIdle();
    await page.reload();
    await expect(console.text).toHaveText("Good evening");
    await expect(page.getByText("Trying again")).toHaveCount(0);
  });
}
