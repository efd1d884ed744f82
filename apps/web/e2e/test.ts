import { type BrowserContext, test as base, expect, type Page } from "@playwright/test";
import { Console } from "./console";
import { startServer, type TestServer } from "./server";

interface Setup {
  /** Arguments of the server. */
  args?: string[];
  /** Settings of the server. */
  env?: Record<string, string>;
  /** The server can be killed and restarted; the browser's console may say that it was away. */
  isKept?: boolean;
  /** What the browser's console may complain about. */
  allowed?: RegExp[];
}

interface Fixtures {
  /** What is special about the server and the browser of this test. */
  setup: Setup;
  server: TestServer;
  console: Console;
  /** Another tab of the same browser. */
  newTab: () => Promise<Console>;
}

/**
 * A browser that is done before its approval is stored is told so (409, approval-required) and acknowledges again: the
 * protocol's own way, which the browser's console reports as a failed request.
 */
const TOO_EARLY = /status of 409 .*\/api\/tools\/ack/;

/** What a browser reports when its server is gone; the proxy of the preview answers for it. */
const AWAY = /net::ERR_|status of 5\d\d|WebSocket connection to|Failed to fetch/;

/** Every test has a server of its own, and fails when the browser's console complains. */
export const test = base.extend<Fixtures>({
  setup: [{}, { option: true }],
  server: async ({ setup }, use) => {
    const server = await startServer(setup);
    await use(server);
    await server.stop();
  },
  // It needs the server only so that the server outlives it: a page that loses its server complains.
  context: async ({ context, setup: { allowed = [], isKept }, server: _ }, use) => {
    const complaints: string[] = [];
    watch(context, complaints);
    await routeExample(context);
    await use(context);
    const expected = [TOO_EARLY, ...allowed, ...(isKept ? [AWAY] : [])];
    expect(complaints.filter((text) => !expected.some((pattern) => pattern.test(text)))).toEqual([]);
  },
  console: async ({ page, server }, use) => use(new Console(page, server.url)),
  newTab: async ({ context, server }, use) => use(async () => new Console(await context.newPage(), server.url)),
});

export { expect };

function watch(context: BrowserContext, complaints: string[]): void {
  context.on("page", (page: Page) => {
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning")
        complaints.push(`${message.text()} ${message.location().url}`);
    });
  });
}

/** The tests need no network. */
async function routeExample(context: BrowserContext): Promise<void> {
  await context.route("https://example.com/**", (route) =>
    route.fulfill({ contentType: "text/html", body: "<title>Example</title><h1>Example Domain</h1>" }),
  );
}
