import { randomUUID } from "node:crypto";
import { test as base, expect, type Page } from "@playwright/test";
import { type App, type AppPage, type ServedApp, serve } from "./app";
import { type Approver, Holdpoint } from "./holdpoint";
import { ChatRecord } from "./record";
import { prepared } from "./setup";

interface WorkerFixtures {
  /** The app under test: `test.use({ app })`. */
  app: App;
  ports: { app: number; holdpoint: number };
  served: ServedApp;
}

interface Fixtures {
  /** The server's settings, in TOML: `test.use({ settings })`. */
  settings: string;
  /** Approvers beside the user of the app, with keys of their own: `test.use({ approvers })`. */
  approvers: readonly Approver[];
  holdpoint: Holdpoint;
  chatId: string;
  /** The app in the browser. */
  chat: AppPage;
  /** The same chat on the server. */
  record: ChatRecord;
}

/** What a browser reports about requests that fail while the server is down. */
const OUTAGE = /net::ERR_|status of 5\d\d|WebSocket connection to|Failed to fetch|network error/i;

/** A chat that nothing was sent to is unknown to the server. */
const NEW_CHAT = /status of 404 .*\/api\/chat\/[^/]+\/(messages|holds)/;

/** An app is built and served once. Every test has its own server, on the same port, and its own chat. */
export const test = base.extend<Fixtures, WorkerFixtures>({
  app: [undefined as unknown as App, { option: true, scope: "worker" }],
  ports: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of the fixtures from the pattern.
    async ({}, use, { parallelIndex }) => {
      const [app, holdpoint] = prepared().ports.slice(2 * parallelIndex);
      if (app === undefined || holdpoint === undefined) throw new Error("There are more workers than ports.");
      await use({ app, holdpoint });
    },
    { scope: "worker" },
  ],
  served: [
    async ({ app, ports }, use) => {
      const served = await serve(app, ports);
      await use(served);
      await served.stop();
    },
    // It is installed from the registry, and built.
    { scope: "worker", timeout: 600_000 },
  ],
  settings: ["", { option: true }],
  approvers: [[], { option: true }],
  holdpoint: async ({ app, ports, settings, approvers }, use) => {
    const { key } = app;
    const isOpen = key === undefined || (app.isOpen && approvers.length === 0);
    const access = isOpen ? undefined : { key, origin: `http://127.0.0.1:${ports.app}`, approvers };
    const holdpoint = new Holdpoint(ports.holdpoint, settings, access);
    await holdpoint.start();
    await use(holdpoint);
    await holdpoint.remove();
  },
  // biome-ignore lint/correctness/noEmptyPattern: as above.
  chatId: async ({}, use) => use(`chat-${randomUUID()}`),
  // A page that loses its server reports errors: it is closed before.
  page: async ({ page, holdpoint: _ }, use) => {
    const complaints = watch(page);
    await use(page);
    expect(complaints, "what the browser's console reports").toEqual([]);
    await page.close();
  },
  chat: async ({ app, served, page, chatId }, use) => {
    const chat = app.page(page, served.address, chatId);
    await chat.open();
    await use(chat);
  },
  record: async ({ holdpoint, chatId }, use) => use(new ChatRecord(holdpoint, chatId)),
});

export { expect };

function watch(page: Page): string[] {
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    const text = `${message.text()} ${message.location().url}`;
    if (message.type() === "error" && !OUTAGE.test(text) && !NEW_CHAT.test(text)) complaints.push(text);
  });
  return complaints;
}
