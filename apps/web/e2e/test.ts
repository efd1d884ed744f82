import { type BrowserContext, test as base, expect, type Page } from "@playwright/test";
import { Console } from "./console";
import { startServer, type TestServer } from "./server";

interface Setup {
  /** Arguments of the server. */
  args?: string[];
  /** Environment variables of the server. */
  env?: Record<string, string>;
  /** The server can be killed and restarted; the browser's console may report the outage. */
  isKept?: boolean;
  /** The number of nodes on a PostgreSQL, instead of one server with a log of its own. */
  nodes?: number;
  /** Messages that are allowed in the browser's console. */
  allowed?: RegExp[];
}

interface Fixtures {
  /** Options for this test's server and browser. */
  setup: Setup;
  server: TestServer;
  console: Console;
  /** Another tab of the same browser. */
  newTab: () => Promise<Console>;
}

/**
 * A browser whose result arrives before its approval is stored gets a 409 (approval-required) and acknowledges again.
 * The protocol expects this, but the browser's console reports a failed request.
 */
const TOO_EARLY = /status of 409 .*\/api\/tools\/ack/;

/** What a browser reports when its server is unreachable, or the preview's proxy responds instead. */
const AWAY = /net::ERR_|status of 5\d\d|WebSocket connection to|Failed to fetch/;

/** Every test has its own server, and fails on any message in the browser's console. */
export const test = base.extend<Fixtures>({
  setup: [{}, { option: true }],
  server: async ({ setup }, use) => {
    const server = await startServer(setup);
    await use(server);
    await server.stop();
  },
  // It depends on the server only so that the server outlives it: a page that loses its server logs errors.
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

/** The page has nothing to do any more: what has arrived so far is rendered. */
export async function expectNothingToDo(page: Page): Promise<void> {
  await page.evaluate(() => new Promise((resolve) => requestIdleCallback(resolve)));
}

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
