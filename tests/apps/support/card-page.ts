import { expect, type Locator, type Page } from "@playwright/test";
import type { AppPage, CardState } from "./app";

/** The page of an example whose cards have `data-tool` and `data-state`, and whose address is `?chat=…`. */
export class CardPage implements AppPage {
  readonly answers: Locator;
  readonly status: Locator;
  readonly page: Page;
  readonly #address: string;

  constructor(page: Page, address: string, chatId: string) {
    this.page = page;
    this.#address = `${address}/?chat=${chatId}`;
    this.answers = page.locator('.message[data-role="assistant"] > p');
    this.status = page.getByRole("status");
  }

  async open() {
    await this.page.goto(this.#address);
    await expect(this.status).toContainText("Connected");
  }

  async send(text: string) {
    await this.page.getByLabel("Message").fill(text);
    await this.page.getByRole("button", { name: "Send" }).click();
  }

  cards(tool: string) {
    return this.page.locator(`.message .card[data-tool="${tool}"]`);
  }

  async approve(card: Locator) {
    await card.getByRole("button", { name: "Approve" }).click();
  }

  async deny(card: Locator) {
    await card.getByRole("button", { name: "Deny" }).click();
  }

  async expectVoted(card: Locator) {
    await expect(card).toContainText("1 of 2 have approved");
    await expect(card.getByRole("button")).toHaveCount(0);
  }

  async expectState(card: Locator, state: CardState) {
    await expect(card).toHaveAttribute("data-state", state === "waiting" ? "approval-requested" : state);
  }
}
