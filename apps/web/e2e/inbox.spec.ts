import { fileURLToPath } from "node:url";
import type { Page } from "@playwright/test";
import { InboxPage } from "./inboxPage";
import { api } from "./people";
import { expectNoOverflow, SCREENS } from "./screens";
import { expect, test } from "./test";

const folder = fileURLToPath(new URL("./screenshots/", import.meta.url));
const look = (page: Page, name: string) => page.screenshot({ path: `${folder}${name}.png`, animations: "disabled" });

const NAMES = ["Hanako", "Taro", "Yuki", "Ken"];

/** Payments to these people wait, one in each chat, in this order. */
async function ask(url: string, names = NAMES): Promise<void> {
  for (const name of names) await api(url).say(`chat-${name}`, `send 50 dollars to ${name}`);
}

test("by keyboard only: moving, approving, denying, editing, selecting, help and commands", async ({
  page,
  server,
}) => {
  await ask(server.api);
  const inbox = await new InboxPage(page, server.url).open();
  await inbox.expectReady(/Hanako/);
  await inbox.expectNoFindings();

  await page.keyboard.press("j");
  await inbox.expectReady(/Taro/);
  await expect(inbox.row(/Taro/)).toBeFocused();
  await page.keyboard.press("k");
  await inbox.expectReady(/Hanako/);
  await page.keyboard.press("k");
  await inbox.expectReady(/Hanako/);

  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keys" })).toBeVisible();
  await inbox.expectNoFindings();
  // A dialog is open: the key is not for the list.
  await page.keyboard.press("a");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await inbox.expectReady(/Hanako/);
  expect(await api(server.api).approvals()).toHaveLength(4);

  await page.keyboard.press("a");
  await expect(inbox.results).toHaveText([/^Approved\. Pay 50 USD to Hanako/]);
  await inbox.expectReady(/Taro/);

  await page.keyboard.press("d");
  await expect(inbox.pane.getByPlaceholder("Reason")).toBeFocused();
  // What is typed there is text.
  await page.keyboard.type("ask again");
  await expect(inbox.pane.getByPlaceholder("Reason")).toHaveValue("ask again");
  await page.keyboard.press("Enter");
  await expect(inbox.results.nth(1)).toHaveText(/^Denied\. Pay 50 USD to Taro/);
  await inbox.expectReady(/Yuki/);

  await page.keyboard.press("e");
  const edit = page.getByRole("dialog", { name: /Edit the input/ });
  await edit.getByLabel(/amount/i).fill("40");
  await page.keyboard.press("Enter");
  const check = page.getByRole("dialog", { name: /Check the changes/ });
  await expect(check).toContainText("40");
  const send = check.getByRole("button", { name: /^Approve with changes/ });
  await expect(send).not.toHaveAttribute("aria-disabled", "true");
  await send.focus();
  await page.keyboard.press("Enter");
  await expect(inbox.results.nth(2)).toHaveText(/^Approved with changes\. Pay 40 USD to Yuki/);
  await inbox.expectReady(/Ken/);

  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Commands" });
  await expect(palette.getByRole("combobox")).toBeFocused();
  await inbox.expectNoFindings();
  await page.keyboard.type("answer");
  await expect(palette.getByRole("option")).toHaveText([/^Answer in the tool's place/]);
  await page.keyboard.press("Enter");
  const answer = page.getByRole("dialog", { name: /Answer in the tool's place/ });
  await expect(answer).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(answer).toHaveCount(0);

  await page.keyboard.press("Control+k");
  await page.keyboard.type("history");
  await page.keyboard.press("Enter");
  const history = page.getByRole("list", { name: "My decisions" }).locator("> li");
  await expect(history).toHaveText([/Approved with changes/, /Denied.*ask again/, /Approved/]);
  await inbox.expectNoFindings();
});

test("a key decides nothing right after a decision has moved the list on", async ({ page, server }) => {
  await ask(server.api);
  await page.clock.install();
  const inbox = await new InboxPage(page, server.url).open();
  await inbox.expectReady(/Hanako/);
  await page.keyboard.press("j");
  await inbox.expectReady(/Taro/);
  // The moment in which keys do nothing lasts until the clock goes on.
  await page.clock.pauseAt(Date.now() + 60_000);
  await page.keyboard.press("a");
  await expect(inbox.pane.getByRole("heading", { name: /Yuki/, level: 2 })).toBeVisible();
  await expect(inbox.pane).toHaveAttribute("data-unseen", "0");
  await expect(inbox.pane).toHaveAttribute("data-armed", "false");
  for (const key of ["a", "d", "e", "r"]) await page.keyboard.press(key);
  await expect(inbox.pane.getByPlaceholder("Reason")).toHaveCount(0);
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(inbox.pane).toHaveAttribute("data-call-state", "approval-requested");
  expect(await api(server.api).approvals()).toHaveLength(3);

  await page.clock.resume();
  await inbox.expectReady(/Yuki/);
  // A key that is held down, or pressed with another one, is not meant.
  for (const key of ["Shift+A", "Control+d", "Alt+a"]) await page.keyboard.press(key);
  await expect(inbox.pane).toHaveAttribute("data-call-state", "approval-requested");
  await page.keyboard.press("a");
  await expect(inbox.results).toHaveText([/^Approved\. .*Taro/, /^Approved\. .*Yuki/]);
});

test("what somebody writes about stays when it is decided elsewhere", async ({ page, server }) => {
  await ask(server.api);
  const inbox = await new InboxPage(page, server.url).open();
  await inbox.expectReady(/Hanako/);
  await page.keyboard.press("j");
  await inbox.expectReady(/Taro/);
  const elsewhere = async (name: string) => {
    const found = (await api(server.api).approvals()).find(({ chatId }) => chatId === `chat-${name}`);
    expect(await api(server.api).decide(found?.approvalId ?? "", { approved: false })).toBe(200);
    await expect(inbox.row(new RegExp(name))).toHaveCount(0);
  };
  await page.keyboard.press("d");
  const reason = inbox.pane.getByPlaceholder("Reason");
  await page.keyboard.type("a b");
  await elsewhere("Taro");
  await expect(inbox.pane.getByRole("alert")).toContainText("decided elsewhere");
  await page.keyboard.type("ecause");
  await expect(reason).toHaveValue("a because");
  // Nor is it sent.
  await page.keyboard.press("Enter");
  await expect(reason).toHaveValue("a because");
  await page.keyboard.press("Escape");
  await expect(inbox.pane).toHaveAttribute("data-call-state", "ended");
  await expect(inbox.pane.getByRole("heading", { name: /Taro/, level: 2 })).toBeVisible();
  await page.keyboard.press("j");
  await inbox.expectReady(/Yuki/);

  await page.keyboard.press("e");
  const dialog = page.getByRole("dialog", { name: /Edit the input/ });
  await dialog.getByLabel(/amount/i).fill("40");
  await elsewhere("Yuki");
  await expect(dialog).toContainText("no longer open");
  await expect(dialog.getByLabel(/amount/i)).toHaveValue("40");
  await page.keyboard.press("Escape");
  await expect(inbox.pane).toHaveAttribute("data-call-state", "ended");
  await page.keyboard.press("j");
  await inbox.expectReady(/Ken/);
  expect(await api(server.api).approvals()).toHaveLength(2);
});

test.describe("several at once", () => {
  test("it lists what will be done, and what came of each", async ({ page, server }) => {
    await ask(server.api);
    const inbox = await new InboxPage(page, server.url).open();
    await inbox.expectReady(/Hanako/);
    await page.keyboard.press("x");
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await inbox.list.getByRole("checkbox", { name: /Yuki/ }).check();
    await page
      .getByRole("toolbar", { name: /selected/ })
      .getByRole("button", { name: "Approve…" })
      .click();
    await expect(page.getByRole("dialog", { name: "Approve 3 requests?" })).toBeVisible();
    const dialog = page.getByRole("dialog");
    await expect(dialog.locator(".bulk__headline")).toHaveText([/Hanako/, /Taro/, /Yuki/]);
    await inbox.expectNoFindings();
    // Somebody else is faster for one of them.
    const taken = (await api(server.api).approvals()).find(({ chatId }) => chatId === "chat-Taro");
    expect(await api(server.api).decide(taken?.approvalId ?? "", { approved: false })).toBe(200);
    await expect(dialog.locator(".bulk__item").nth(1)).toContainText("Left out: it has ended.");
    const send = dialog.getByRole("button", { name: /^Approve 2 requests/ });
    // That moves the button. If it moves under the pointer, the click does not count, and a person clicks again.
    await expect(async () => {
      await expect(send).not.toHaveAttribute("aria-disabled", "true");
      await send.click();
      await expect(send).toHaveCount(0, { timeout: 1_000 });
    }).toPass();
    await expect(page.locator(".bulk__outcome")).toHaveText([
      "Approved. Done.",
      "Left out: it has ended.",
      "Approved. Done.",
    ]);
    await page.getByRole("dialog").getByRole("button", { name: "Close", exact: true }).last().click();
    await expect(inbox.list.getByRole("listitem")).toHaveCount(1);
    // What was decided here is not ticked any more, and what ended elsewhere is until the person lets go of it.
    await expect(page.getByRole("toolbar", { name: /selected/ })).toContainText("1 selected, 1 ended");
    await page.keyboard.press("Escape");
    await expect(page.getByRole("toolbar", { name: /selected/ })).toHaveCount(0);
  });
});

for (const name of ["light", "dark", "phone"] as const) {
  test.describe(name, () => {
    test.use(name === "phone" ? SCREENS.phone : { ...SCREENS.desktop, colorScheme: name });

    test(`looks right, ${name}`, async ({ page, server }) => {
      await ask(server.api);
      const inbox = await new InboxPage(page, server.url).open();
      await expect(inbox.row(/Hanako/)).toBeVisible();
      await expectNoOverflow(page);
      await inbox.expectNoFindings();
      await look(page, `inbox-${name}-1-list`);
      if (name === "phone") {
        await inbox.row(/Taro/).click();
        await inbox.expectReady(/Taro/);
        await expectNoOverflow(page);
        await inbox.expectNoFindings();
        await look(page, `inbox-${name}-2-request`);
        await page.goBack();
        await inbox.row(/Yuki/).click();
        await inbox.expectReady(/Yuki/);
        // The next one is opened when this one is decided, and Back leads to the list.
        await inbox.pane.getByRole("button", { name: /^Approve/ }).click();
        await inbox.expectReady(/Ken/);
        await expect(inbox.results).toHaveText([/^Approved\. .*Yuki/]);
        await page.goBack();
        await expect(inbox.row(/Taro/)).toBeVisible();
        await page.goForward();
        await inbox.expectReady(/Ken/);
      } else {
        await page.keyboard.press("Control+k");
        await look(page, `inbox-${name}-3-palette`);
        await page.keyboard.press("Escape");
        await page.getByRole("button", { name: "Alerts" }).click();
        await expect(page.getByRole("switch", { name: /Sound/ })).toBeVisible();
        await inbox.expectNoFindings();
        await look(page, `inbox-${name}-4-alerts`);
      }
    });
  });
}
