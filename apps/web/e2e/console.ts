import { expect, type Locator, type Page } from "@playwright/test";
import type { Mode } from "../src/modes";

/** Page object of the console. */
export class Console {
  constructor(
    readonly page: Page,
    private readonly url: string,
  ) {}

  async open(mode: Mode, chatId?: string, extra: Record<string, string> = {}): Promise<this> {
    await this.visit(mode, chatId, extra);
    await expect(this.composer).toBeVisible();
    return this;
  }

  /** Opens the page without waiting for anything. */
  async visit(mode: Mode, chatId?: string, extra: Record<string, string> = {}): Promise<void> {
    const hash = new URLSearchParams({ ...(chatId && { chat: chatId }), mode, ...extra });
    // A URL that differs only in its hash is not loaded again.
    await this.page.goto("about:blank");
    await this.page.goto(`${this.url}/#${hash}`);
  }

  get composer(): Locator {
    return this.page.getByRole("textbox", { name: "Message to the assistant" });
  }

  get answers(): Locator {
    return this.page.getByRole("article", { name: "Assistant" });
  }

  /** The assistant's text, without the cards. */
  get text(): Locator {
    return this.answers.last().locator(".markdown");
  }

  get chat(): Locator {
    return this.page.locator(".chat");
  }

  /** Sends a message, and waits until the page shows it: until then, the chat is still as idle as before. */
  async send(text: string): Promise<void> {
    const messages = this.page.getByRole("article", { name: "You", exact: true });
    const before = await messages.count();
    await this.composer.fill(text);
    await this.composer.press("Enter");
    await expect.poll(() => messages.count()).toBeGreaterThan(before);
  }

  /** The cards of a tool's calls in the chat; those of earlier attempts are in `earlier`. */
  card(tool: string): Locator {
    return this.chat.locator(`[data-tool="${tool}"]:not([data-earlier])`);
  }

  get earlier(): Locator {
    return this.chat.getByRole("region", { name: "Earlier attempts" });
  }

  /** Clicks again if nothing happened: a button that has just moved ignores clicks. */
  async approve(card: Locator): Promise<void> {
    const button = card.getByRole("button", { name: /^Approve/ });
    await button.click();
    const requested = card.and(this.page.locator('[data-call-state="approval-requested"]'));
    const isTaken = requested.waitFor({ state: "hidden", timeout: 1_500 }).then(
      () => true,
      () => this.page.getByRole("dialog").isVisible(),
    );
    if (!(await isTaken)) await button.click();
  }

  async deny(card: Locator, reason?: string): Promise<void> {
    await card.getByRole("button", { name: /^Deny/ }).click();
    if (reason !== undefined) await card.getByRole("textbox").fill(reason);
    await card.getByRole("button", { name: "Deny", exact: true }).click();
  }

  async expectState(card: Locator, state: string | RegExp): Promise<void> {
    await expect(card).toHaveAttribute("data-state", state);
  }

  /** The turn has ended: nothing is running, and the text stays. */
  async expectIdle(): Promise<void> {
    await expect(this.chat).toHaveAttribute("data-status", "ready");
    await expect(this.page.getByRole("button", { name: "Stop", exact: true })).toHaveCount(0);
  }

  get chatId(): string {
    return new URLSearchParams(new URL(this.page.url()).hash.slice(1)).get("chat") ?? "";
  }
}
