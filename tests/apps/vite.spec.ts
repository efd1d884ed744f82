import { expect, type Locator, type Page } from "@playwright/test";
import type { App, AppPage, CardState } from "./support/app";
import { playScenarios } from "./support/scenarios";

const app: App = {
  name: "vite",
  example: "vite",
  serve: (port) => ["run", "preview", "--", "--host", "127.0.0.1", "--port", String(port), "--strictPort"],
  page: (page, address, chatId) => new VitePage(page, address, chatId),
};

class VitePage implements AppPage {
  readonly answers: Locator;
  readonly #page: Page;
  readonly #address: string;

  constructor(page: Page, address: string, chatId: string) {
    this.#page = page;
    this.#address = `${address}/?chat=${chatId}`;
    this.answers = page.locator('.message[data-role="assistant"] > p');
  }

  async open() {
    await this.#page.goto(this.#address);
    await expect(this.#page.getByRole("status")).toContainText("Connected");
  }

  async send(text: string) {
    await this.#page.getByLabel("Message").fill(text);
    await this.#page.getByRole("button", { name: "Send" }).click();
  }

  cards(tool: string) {
    return this.#page.locator(`.chat .card[data-tool="${tool}"]`);
  }

  async approve(card: Locator) {
    await card.getByRole("button", { name: "Approve" }).click();
  }

  async deny(card: Locator) {
    await card.getByRole("button", { name: "Deny" }).click();
  }

  async expectState(card: Locator, state: CardState) {
    await expect(card).toHaveAttribute("data-state", state);
  }
}

playScenarios(app);
