import { expect, type Locator, type Page } from "@playwright/test";
import { expectNoFindings } from "./axe";

/** Page object of the inbox. */
export class InboxPage {
  constructor(
    readonly page: Page,
    private readonly url: string,
  ) {}

  async open(path = "/inbox"): Promise<this> {
    await this.page.goto(`${this.url}${path}`);
    return this;
  }

  get list(): Locator {
    return this.page.getByRole("list", { name: "Approval requests" });
  }

  row(name: string | RegExp): Locator {
    return this.list.getByRole("button", { name });
  }

  /** The request beside the list, or alone on its page. */
  get pane(): Locator {
    return this.page.locator(".pane");
  }

  /** The request is selected, all of it was in view, and a key would decide it. */
  async expectReady(name: string | RegExp): Promise<void> {
    await expect(this.pane.getByRole("heading", { name, level: 2 })).toBeVisible();
    await expect(this.pane).toHaveAttribute("data-unseen", "0");
    await expect(this.pane).toHaveAttribute("data-armed", "true");
  }

  /** What was read stays in its place after it has ended elsewhere, and says what has become of it. */
  get ended(): Locator {
    return this.page.locator(".pane[data-call-state=ended]");
  }

  /** The next request, by key. */
  async moveTo(name: string | RegExp): Promise<void> {
    await this.page.keyboard.press("j");
    await this.expectReady(name);
  }

  /** Ticks rows of the list. */
  async tick(...names: string[]): Promise<void> {
    for (const name of names) await this.list.getByRole("checkbox", { name }).check();
  }

  /** Brings every line of the input into view. */
  async readAll(): Promise<void> {
    const next = this.pane.locator(".review__next");
    for (let pages = 0; pages < 80; pages++) {
      // In one step: the button goes with the last line.
      const before = await this.pane.evaluate((pane) => {
        const button = pane.querySelector<HTMLElement>(".review__next");
        button?.click();
        return button?.textContent;
      });
      if (!before) break;
      await expect(next.filter({ hasText: before })).toHaveCount(0);
    }
    await expect(this.pane).toHaveAttribute("data-unseen", "0");
  }

  get results(): Locator {
    return this.page.locator(".results li");
  }

  async expectNoFindings(): Promise<void> {
    await expectNoFindings(this.page);
  }
}
