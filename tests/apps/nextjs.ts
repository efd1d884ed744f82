import { expect, type Locator, type Page } from "@playwright/test";
import type { App, AppPage, CardState } from "./support/app";

/** The key is long and in no file, so that it can be looked for in everything that the browser gets. */
export const KEY = "the-key-that-no-browser-may-see-4f9b1c";

/** The Next.js app, with these versions of the AI SDK. */
export function nextApp(name: string, dependencies: Record<string, string> = {}): App {
  return {
    name,
    example: "nextjs",
    dependencies,
    key: KEY,
    serve: (port) => ["run", "start", "--", "--hostname", "127.0.0.1", "--port", String(port)],
    page: (page, address, chatId) => new NextPage(page, address, chatId),
  };
}

const SAYS: Record<CardState, string> = { waiting: "Waiting for you", done: "Done", denied: "Denied" };

export class NextPage implements AppPage {
  readonly answers: Locator;
  readonly #page: Page;
  readonly #address: string;

  constructor(page: Page, address: string, chatId: string) {
    this.#page = page;
    this.#address = `${address}/chat/${chatId}`;
    this.answers = page.locator(".message.assistant > p");
  }

  /** The app can be used when it runs in the browser, and then it asks for an open response first. */
  async open() {
    const resumed = this.#page.waitForResponse((response) => response.url().endsWith("/stream"));
    await this.#page.goto(this.#address);
    await resumed;
  }

  async send(text: string) {
    await this.#page.getByLabel("Message").fill(text);
    await this.#page.getByRole("button", { name: "Send", exact: true }).click();
  }

  cards(tool: string) {
    return this.#page.getByRole("article", { name: tool });
  }

  async approve(card: Locator) {
    await card.getByRole("button", { name: "Approve" }).click();
  }

  async deny(card: Locator) {
    await card.getByRole("button", { name: "Deny" }).click();
  }

  async expectVoted(card: Locator) {
    await expect(card).toContainText("1 of 2 have approved: app");
  }

  async expectState(card: Locator, state: CardState) {
    await expect(card.locator(".badge")).toHaveText(SAYS[state]);
  }
}
