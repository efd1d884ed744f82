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

  get results(): Locator {
    return this.page.locator(".results li");
  }

  async expectNoFindings(): Promise<void> {
    await expectNoFindings(this.page);
  }
}
