import type { Page } from "@playwright/test";
import { InboxPage } from "./inboxPage";
import { configured, gatedTool, scripted } from "./scripts";
import { expect, test } from "./test";

const MANY = 10_000;

/** Answers for the inbox with this many requests, in pages, as the server does. */
async function fill(page: Page, requests: string[]): Promise<void> {
  const all = Array.from({ length: MANY }, (_, at) => ({
    approvalId: `approval_${at}`,
    toolCallId: `call_${at}`,
    chatId: `chat_${at}`,
    toolName: at % 10 === 0 ? "deploy" : "process_payment",
    input: { amount: at, currency: "USD", recipient: `Person ${at}` },
    reason: "This tool always needs approval",
    requestedAt: new Date(Date.UTC(2026, 0, 1) + at * 1_000).toISOString(),
    expiresAt: null,
    allowed: ["approve", "deny"],
    requestedBy: at % 2 === 0 ? "ann" : "bob",
    title: "Send a payment",
    headline: "Pay {amount} {currency} to {recipient}",
    isEscalated: false,
  }));
  await page.route("**/api/approvals?*", async (route) => {
    const query = new URL(route.request().url()).searchParams;
    requests.push(query.toString());
    const [limit, after] = [Number(query.get("limit") ?? 100), Number(query.get("after") ?? 0)];
    const found: unknown[] = [];
    let at = after;
    // A request looks at so many at most: a page may be empty and have a next one.
    for (; at < MANY && found.length < limit && at < after + 2_000; at++) {
      const each = all[at];
      const isMeant =
        [each?.toolName, null].includes(query.get("tool")) &&
        [each?.requestedBy, null].includes(query.get("requested_by"));
      if (isMeant && JSON.stringify(each?.input).includes(query.get("q") ?? "")) found.push(each);
    }
    query.set("after", String(at));
    await route.fulfill({ json: found, headers: at < MANY ? { link: `<?${query}>; rel="next"` } : {} });
  });
}

test("ten thousand requests: pages, order, filters and search", async ({ page, server }) => {
  const requests: string[] = [];
  await fill(page, requests);
  const inbox = await new InboxPage(page, server.url).open();
  await inbox.expectReady("Pay 0 USD to Person 0");
  await expect(page).toHaveTitle(/^\(\d+\+\) Holdpoint$/);
  // Only what is in view is in the document.
  expect(await inbox.list.getByRole("listitem").count()).toBeLessThan(60);
  const asked = requests.length;

  // Scrolling to the end loads more, again and again.
  const scroller = page.locator(".waiting__scroll");
  for (const person of ["Person 99", "Person 199", "Person 299"]) {
    await scroller.evaluate((element) => element.scrollTo({ top: element.scrollHeight }));
    await expect(inbox.row(new RegExp(`${person}\\b`))).toBeAttached();
  }
  expect(requests.length).toBeGreaterThan(asked);
  // The selection is where it was, and the keys bring it back into view.
  await expect(inbox.pane.getByRole("heading", { name: "Pay 0 USD to Person 0", level: 2 })).toBeVisible();
  await page.keyboard.press("j");
  await expect(inbox.row(/Person 1\b/)).toBeInViewport();
  await expect(inbox.row(/Person 1\b/)).toBeFocused();

  await page.getByLabel("Order").selectOption("newest");
  // All of them are read for that, and what was selected stays so.
  await expect(inbox.row(/Person 9999\b/)).toBeVisible();
  await inbox.expectReady("Pay 1 USD to Person 1");
  await page.getByLabel("Requested by").selectOption("ann");
  await expect(inbox.row(/Person 9999\b/)).toHaveCount(0);
  await expect(inbox.row(/Person 9998\b/)).toBeVisible();

  // Far down, behind pages in which nothing matches.
  await page.getByLabel("Search").fill("Person 4242");
  await expect(inbox.list.getByRole("listitem")).toHaveCount(1);
  await inbox.expectReady("Pay 4242 USD to Person 4242");
  await inbox.expectNoFindings();
  await expect(page).toHaveURL(/order=newest/);

  await page.getByLabel("Search").fill("nobody at all");
  await expect(page.getByRole("heading", { name: "Nothing matches" })).toBeVisible();
  await page.getByRole("button", { name: "Show everything" }).click();
  await expect(inbox.row(/Person 9999\b/)).toBeVisible();
  await expect(page.getByLabel("Search")).toHaveValue("");
});

test.describe("a hostile request", () => {
  const RLO = "\u202e";
  const input = {
    recipient: `Alice ${RLO}boB\n<b>now</b>`,
    note: `${"long ".repeat(2_000)}end`,
    amount: "{recipient}",
  };
  test.use({
    setup: {
      args: [
        ...configured(gatedTool("deploy", undefined, { title: `Deploy ${RLO}esaeler` })),
        ...scripted([{ toolCall: { name: "deploy", input } }], [{ text: ["done"] }]),
      ],
    },
  });

  test("is shown as text, and A does not approve what was not in view", async ({ page, server }) => {
    const body = {
      id: "c",
      messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: `go ${RLO}on` }] }],
    };
    const headers = { "content-type": "application/json" };
    await (await fetch(`${server.api}/stream`, { method: "POST", headers, body: JSON.stringify(body) })).text();
    const inbox = await new InboxPage(page, server.url).open();
    await expect(inbox.pane.getByRole("heading", { level: 2 })).toContainText("U+202E");
    await expect(inbox.pane).toContainText("<b>now</b>");
    const hidden = await page.evaluate((character) => document.documentElement.outerHTML.includes(character), RLO);
    expect(hidden).toBe(false);

    // The note is longer than the screen: the key shows the next lines, until all of them were in view.
    await expect(inbox.pane).toHaveAttribute("data-unseen", /^[1-9]/);
    const left = async () => Number(await inbox.pane.getAttribute("data-unseen"));
    for (let before = await left(); before > 0; before = await left()) {
      await page.keyboard.press("a");
      await expect.poll(left).toBeLessThan(before);
      await expect(inbox.pane).toHaveAttribute("data-call-state", "approval-requested");
    }
    await inbox.expectReady(/Deploy/);
    await page.keyboard.press("a");
    await expect(inbox.results).toHaveText([/^Approved\./]);
  });
});

test.describe("alerts", () => {
  test.use({ permissions: [] });

  test("are asked for by a click only, and the tab says how many wait", async ({ page, server }) => {
    await page.addInitScript(() => {
      const shown: string[] = [];
      class Fake {
        static permission: NotificationPermission = "default";
        static requested = 0;
        static async requestPermission() {
          Fake.requested += 1;
          Fake.permission = "granted";
          return "granted" as const;
        }
        onclick: (() => void) | null = null;
        constructor(title: string, { body }: NotificationOptions = {}) {
          shown.push(`${title}: ${body}`);
        }
        close() {}
      }
      Object.assign(window, { Notification: Fake, shownNotifications: shown });
      document.hasFocus = () => false;
    });
    const inbox = await new InboxPage(page, server.url).open();
    await expect(page.getByText("Nothing is waiting for you")).toBeVisible();
    const requested = () => page.evaluate(() => (window.Notification as unknown as { requested: number }).requested);
    const shown = () => page.evaluate(() => (window as unknown as { shownNotifications: string[] }).shownNotifications);
    expect(await requested()).toBe(0);
    await page.getByRole("button", { name: "Alerts" }).click();
    await page.getByRole("switch", { name: /Desktop notifications/ }).click();
    await expect(page.getByRole("switch", { name: /Desktop notifications/ })).toBeChecked();
    await expect(page.getByRole("switch", { name: /Sound/ })).not.toBeChecked();
    expect(await requested()).toBe(1);
    await page.keyboard.press("Escape");

    const body = {
      id: "c1",
      messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: "send 50 dollars to Hanako" }] }],
    };
    const headers = { "content-type": "application/json" };
    await (await fetch(`${server.api}/stream`, { method: "POST", headers, body: JSON.stringify(body) })).text();
    await expect.poll(shown).toEqual(["Approval needed: Pay 50 USD to Hanako"]);
    await expect(page).toHaveTitle("(1) Holdpoint");
    await expect(page.locator('link[rel="icon"]')).toHaveAttribute("data-badge", "1");
    await expect(page.locator('link[rel="icon"]')).toHaveAttribute("href", /^data:image\/png/);
    await inbox.expectReady(/Hanako/);
    await page.keyboard.press("a");
    await expect(page).toHaveTitle("Holdpoint");
    await expect(page.locator('link[rel="icon"]')).toHaveAttribute("href", "/mark.svg");
  });
});
