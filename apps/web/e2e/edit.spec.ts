import type { Locator, Page } from "@playwright/test";
import type { ChatHold, UiMessage } from "holdpoint/protocol";
import { isFull } from "../playwright.config";
import { MODES } from "../src/modes";
import { expectNoFindings } from "./axe";
import { expectNoOverflow, SCREENS, screens } from "./screens";
import { configured, scripted } from "./scripts";
import { expect, test } from "./test";

const HANAKO = "send 50 dollars to Hanako";
const ORIGINAL = { amount: 50, recipient: "Hanako", currency: "USD", description: "Payment to Hanako" };

const BOOKING = {
  place: "Kyoto",
  seats: 2,
  window: false,
  meal: "fish",
  guest: { name: "Hanako" },
  wishes: ["shade"],
  free: null,
};

const BOOK = `[tools.book]
execution = "server"
title = "Book a table"
description = "Books a table"
url = "http://127.0.0.1:9/"
allow_private = true
approval = "always"
[tools.book.input_schema]
type = "object"
required = ["place", "seats", "window", "meal", "guest", "wishes", "free"]
[tools.book.input_schema.properties]
place = { type = "string", title = "Place" }
seats = { type = "integer", title = "Seats" }
window = { type = "boolean" }
meal = { type = "string", enum = ["fish", "rice"] }
guest = { type = "object", required = ["name"], properties = { name = { type = "string" } } }
wishes = { type = "array", items = { type = "string" } }
free = { }
when = { type = "string" }
`;

/** A call of a tool with all kinds of fields. */
const BOOKS = [
  ...configured(BOOK),
  ...scripted([{ toolCall: { name: "book", input: BOOKING } }], [{ text: ["booked"] }]),
];

async function holdsOf(api: string, chatId: string): Promise<ChatHold[]> {
  return (await fetch(`${api}/api/chat/${chatId}/holds`)).json() as Promise<ChatHold[]>;
}

const editor = (page: Page): Locator => page.getByRole("dialog", { name: /Edit the input$/ });
const check = (page: Page): Locator => page.getByRole("dialog", { name: /Check the changes$/ });

async function press(button: Locator): Promise<void> {
  await expect(button).not.toHaveAttribute("aria-disabled", "true");
  await button.click();
}

/** Moves the focus by keyboard. */
async function tabTo(target: Locator): Promise<void> {
  const isThere = () => target.evaluate((element) => element === document.activeElement);
  await expect(target).toBeVisible();
  for (let tabs = 0; tabs < 20 && !(await isThere()); tabs++) await target.page().keyboard.press("Tab");
  await expect(target).toBeFocused();
}

for (const mode of MODES) {
  test(`a payment is edited and approved, and shown as it ran: ${mode}`, async ({ console, page, server }) => {
    await console.open(mode);
    await console.send(HANAKO);
    const card = console.card("process_payment");
    await expect(card.getByRole("heading", { name: /^Pay 50 USD to Hanako/ })).toBeVisible();
    await press(card.getByRole("button", { name: /^Edit: Send a payment/ }));
    await editor(page).getByLabel("amount", { exact: true }).fill("20");
    await editor(page).getByLabel("recipient", { exact: true }).fill("Taro");
    await editor(page).getByRole("button", { name: "Leave out description" }).click();
    await editor(page).getByRole("button", { name: "Check the changes" }).click();
    const changes = check(page).getByRole("list", { name: "Changes" }).getByRole("listitem");
    await expect(changes).toHaveText([/amount.*50.*20/, /recipient.*Hanako.*Taro/, /description.*not given/]);
    await press(check(page).getByRole("button", { name: /^Approve with changes/ }));
    await expect(check(page)).toHaveCount(0);
    await expect(console.text).toContainText("980");
    await console.expectIdle();

    const expectShown = async (who: RegExp) => {
      await expect(card).toHaveCount(1);
      await expect(card).toContainText(who);
      await expect(card.getByRole("list", { name: "Changes" }).getByRole("listitem")).toHaveCount(3);
      await expect(card.getByRole("heading", { name: /^Pay 20 USD to Taro/ })).toBeVisible();
      await expect(card.locator(".pill")).toHaveText("Done");
    };
    await expectShown(/You approved this with changes at/);
    const ran = { amount: 20, recipient: "Taro", currency: "USD" };
    const [hold] = await holdsOf(server.api, console.chatId);
    expect(hold).toMatchObject({ decision: { kind: "edit", by: ["local"] }, outcome: { cause: "ran" } });
    expect(hold?.input).toEqual(ran);
    expect(hold?.decision?.originalInput).toEqual(ORIGINAL);
    const messages = (await (await fetch(`${server.api}/api/chat/${console.chatId}/messages`)).json()) as UiMessage[];
    const parts = messages.flatMap((message) => message.parts).filter(({ type }) => type === "tool-process_payment");
    expect(parts).toMatchObject([{ input: ran, output: { amount: 20, recipient: "Taro" } }]);
    await page.reload();
    await expectShown(/Approved with changes by local at/);
  });
}

test.describe("an input that does not fit", () => {
  test.use({ setup: { allowed: [/status of 422 .*approvals/] } });

  test("is refused by the form where the schema says why, before anything is sent", async ({ console, page }) => {
    await console.open("sse");
    await console.send(HANAKO);
    await press(console.card("process_payment").getByRole("button", { name: /^Edit/ }));
    const amount = editor(page).getByLabel("amount", { exact: true });
    await amount.fill("-5");
    await amount.press("Enter");
    await expect(amount).toHaveAccessibleDescription(/At least 0\.01\.$/);
    await expect(amount).toBeFocused();
    await expect(check(page)).toHaveCount(0);
  });

  test("is refused at its field by the server, and nothing is lost", async ({ console, page, server }) => {
    // The server knows more than the form: its schema has changed since this page was loaded.
    await page.route("**/api/tools*", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: (await response.text()).replaceAll('"minimum":', '"was":') });
    });
    await console.open("sse");
    await console.send(HANAKO);
    const card = console.card("process_payment");
    await press(card.getByRole("button", { name: /^Edit/ }));
    const amount = editor(page).getByLabel("amount", { exact: true });
    await amount.fill("much");
    await amount.press("Enter");
    await expect(amount).toHaveAccessibleDescription(/Write a number\.$/);
    await expect(amount).toBeFocused();
    await amount.fill("-5");
    await editor(page).getByLabel("recipient", { exact: true }).fill("Taro");
    await editor(page)
      .getByLabel(/^Reason/)
      .fill("less");
    await editor(page).getByRole("button", { name: "Check the changes" }).click();
    await press(check(page).getByRole("button", { name: /^Approve with changes/ }));
    await expect(amount).toHaveAccessibleDescription(/less than the minimum of 0.01/);
    await expect(amount).toBeFocused();
    await expect(amount).toHaveValue("-5");
    await expect(editor(page).getByLabel("recipient", { exact: true })).toHaveValue("Taro");
    await expect(editor(page).getByLabel(/^Reason/)).toHaveValue("less");
    await expectNoFindings(page, { include: ".edit" });
    const [open] = await holdsOf(server.api, console.chatId);
    expect(open).toMatchObject({ state: "waiting", input: ORIGINAL });
    expect(open).not.toHaveProperty("decision");
    // Closing loses nothing either.
    await page.keyboard.press("Escape");
    await expect(editor(page)).toHaveCount(0);
    await expect(card.locator(".pill")).toHaveText("Waiting for you");
    await press(card.getByRole("button", { name: /^Edit/ }));
    await amount.fill("7");
    await amount.press("Enter");
    await press(check(page).getByRole("button", { name: /^Approve with changes/ }));
    await expect(console.text).toContainText("993");
    const [hold] = await holdsOf(server.api, console.chatId);
    expect(hold?.input).toEqual({ ...ORIGINAL, amount: 7, recipient: "Taro" });
  });
});

test("a request that somebody else decides meanwhile can't be sent any more, and the person is told", async ({
  console,
  page,
  server,
}) => {
  await console.open("sse");
  await console.send(HANAKO);
  await press(console.card("process_payment").getByRole("button", { name: /^Edit/ }));
  await editor(page).getByLabel("amount", { exact: true }).fill("20");
  await editor(page).getByRole("button", { name: "Check the changes" }).click();
  const [hold] = await holdsOf(server.api, console.chatId);
  await fetch(`${server.api}/api/approvals/${hold?.approvalId}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ approved: false }),
  });
  await expect(check(page).getByRole("alert")).toHaveText("This request is no longer open.");
  await expect(check(page).getByRole("button", { name: /^Approve with changes/ })).toHaveAttribute(
    "aria-disabled",
    "true",
  );
  await page.keyboard.press("Escape");
  await expect(console.card("process_payment")).toContainText("Denied by local");
});

for (const mode of isFull ? MODES : (["sse", "live"] as const)) {
  test(`an answer in the tool's place, and the tool does not run: ${mode}`, async ({ console, page, server }) => {
    await console.open(mode);
    await console.send(HANAKO);
    const card = console.card("process_payment");
    await press(card.getByRole("button", { name: /^Answer in the tool's place/ }));
    const dialog = page.getByRole("dialog", { name: /Answer in the tool's place$/ });
    await expect(dialog).toContainText("The tool will not run.");
    await expectNoFindings(page, { include: ".edit" });
    const send = dialog.getByRole("button", { name: /^Send as the tool's result/ });
    await press(send);
    const result = dialog.getByLabel("Result", { exact: true });
    await expect(result).toHaveAccessibleDescription("Write the result.");
    await result.fill('{"success": true, "note": "paid by hand"');
    await dialog.getByLabel("The result is JSON").check();
    await press(send);
    await expect(result).toHaveAccessibleDescription("This is not valid JSON.");
    await result.press("End");
    await result.pressSequentially("}");
    await press(send);
    await expect(dialog).toHaveCount(0);
    await expect(card.locator(".pill")).toHaveText("Answered");
    await expect(card).toContainText(/You answered this in the tool's place at .*The tool did not run\./);
    await expect(card.getByRole("row", { name: /note/ })).toContainText("paid by hand");
    await console.expectIdle();
    const [hold] = await holdsOf(server.api, console.chatId);
    expect(hold).toMatchObject({
      input: ORIGINAL,
      decision: { kind: "answer" },
      outcome: { cause: "decision", output: { success: true, note: "paid by hand" } },
    });
    await page.reload();
    await expect(card).toContainText(/Answered in the tool's place by local at/);
    await expect(card).toHaveCount(1);
  });
}

test.describe("a tool whose decisions are approve and deny", () => {
  test.use({ setup: { args: configured('[tools.process_payment]\ndecisions = ["approve", "deny"]\n') } });

  test("has no other buttons and no key for them, in the chat and in the inbox", async ({ console, page }) => {
    await console.open("sse");
    await console.send(HANAKO);
    const card = console.card("process_payment");
    await expect(card.getByRole("button", { name: /^Approve/ })).toBeVisible();
    await page.getByRole("button", { name: /^Approvals/ }).click();
    const item = page.getByRole("region", { name: /^Approval: Send a payment/ });
    await expect(item.getByRole("button", { name: /^Deny/ })).toBeVisible();
    await expect(page.getByRole("button", { name: /^(Edit|Answer in)/ }).and(page.locator(".tool-card *"))).toHaveCount(
      0,
    );
    const approve = card.getByRole("button", { name: /^Approve/ });
    await expect(approve).not.toHaveAttribute("aria-disabled", "true");
    await approve.focus();
    await page.keyboard.press("e");
    // A dialog would have taken the focus, and this key with it.
    await page.keyboard.press("Enter");
    await expect(card.locator(".pill")).toHaveText("Done");
    await expect(page.getByRole("dialog")).toHaveCount(0);
  });
});

for (const screen of screens("desktop", "phone")) {
  test.describe(screen, () => {
    test.use({ ...SCREENS[screen], setup: { args: BOOKS } });

    test(`an input of every kind, from the inbox, ${screen}`, async ({ console, page, server }) => {
      await console.open("ai-sdk");
      await console.send("book");
      await expect(console.card("book")).toContainText("Waiting for you");
      await page.getByRole("button", { name: /^Approvals/ }).click();
      const item = page.getByRole("region", { name: /^Approval: Book a table/ });
      await expect(item.getByRole("heading", { name: /^Book a table: Place Kyoto, Seats 2/ })).toBeVisible();
      await press(item.getByRole("button", { name: /^Edit/ }));
      const form = editor(page);
      await form.getByLabel("Seats", { exact: true }).fill("3");
      await form.getByLabel("window", { exact: true }).check();
      await form.getByLabel("meal", { exact: true }).selectOption("rice");
      await form.getByRole("group", { name: "guest" }).getByLabel("name", { exact: true }).fill("Taro");
      await form.getByRole("button", { name: "Add an item to wishes" }).click();
      await form.getByLabel("wishes 2", { exact: true }).fill("quiet");
      await form.getByLabel("free", { exact: true }).fill("[1]");
      await form.getByRole("button", { name: "Add when" }).click();
      await form.getByLabel("when", { exact: true }).fill("noon");
      await expectNoOverflow(page);
      await expectNoFindings(page, { include: ".edit" });
      await form.getByRole("button", { name: "Check the changes" }).click();
      await expectNoOverflow(page);
      await expectNoFindings(page, { include: ".edit" });
      await press(check(page).getByRole("button", { name: /^Approve with changes/ }));
      await expect(check(page)).toHaveCount(0);
      await expect(item).toContainText(/You approved this with changes at/);
      const [hold] = await holdsOf(server.api, console.chatId);
      expect(hold?.input).toEqual({
        ...BOOKING,
        seats: 3,
        window: true,
        meal: "rice",
        guest: { name: "Taro" },
        wishes: ["shade", "quiet"],
        free: [1],
        when: "noon",
      });
      await expectNoOverflow(page);
    });
  });
}

test.describe("by keyboard", () => {
  test.use({ setup: { args: BOOKS } });

  test("E edits, Enter leads to the check and approves nothing, Escape closes", async ({ console, page, server }) => {
    await console.open("sse");
    await console.send("book");
    const card = console.card("book");
    const approve = card.getByRole("button", { name: /^Approve/ });
    await expect(card.getByRole("button", { name: /^Edit/ })).toBeVisible();
    await approve.focus();
    await page.keyboard.press("e");
    await expect(editor(page).locator("input, textarea, select").first()).toBeFocused();
    await page.keyboard.press("Escape");
    await expect(editor(page)).toHaveCount(0);
    await expect(approve).toBeFocused();
    await page.keyboard.press("e");
    await tabTo(editor(page).getByLabel("Place", { exact: true }));
    await page.keyboard.press("End");
    await page.keyboard.type("e");
    await page.keyboard.press("Enter");
    await expect(check(page).getByRole("heading", { name: "You have changed" })).toBeFocused();
    // However often it is pressed.
    for (let times = 0; times < 3; times++) await page.keyboard.press("Enter");
    await expect(check(page).getByRole("listitem")).toHaveText([/Kyoto.*Kyotoe/]);
    const [open] = await holdsOf(server.api, console.chatId);
    expect(open).toMatchObject({ state: "waiting" });
    const send = check(page).getByRole("button", { name: /^Approve with changes/ });
    await tabTo(send);
    await expect(send).not.toHaveAttribute("aria-disabled", "true");
    await page.keyboard.press("Enter");
    await expect(check(page)).toHaveCount(0);
    await expect(card).toContainText("You approved this with changes");
    const [hold] = await holdsOf(server.api, console.chatId);
    expect(hold?.input).toEqual({ ...BOOKING, place: "Kyotoe" });
  });
});
