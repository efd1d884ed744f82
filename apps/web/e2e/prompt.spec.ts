import { expectNoFindings } from "./axe";
import { type PromptingChat, startPromptingChat } from "./promptingChat";
import { test as base, expect } from "./test";

const SCHEMA = {
  type: "object",
  properties: {
    seat: { type: "string", title: "Seat", description: "Row and letter", minLength: 2 },
    mail: { type: "string", title: "Ticket to", format: "email" },
    bags: { type: "integer", title: "Bags", minimum: 0, maximum: 3, default: 1 },
    meal: { type: "string", title: "Meal", enum: ["f", "r"], enumNames: ["Fish", "Rice"] },
    window: { type: "boolean", title: "At a window", default: true },
  },
  required: ["seat", "meal"],
};

const test = base.extend<{ prompting: PromptingChat }>({
  prompting: async ({ context }, use) => {
    const prompting = await startPromptingChat(context, SCHEMA);
    await use(prompting);
    prompting.stop();
  },
});

test("a prompt is answered by form and keyboard, also after a reload", async ({ prompting, console, page }) => {
  await console.open("ai-sdk");
  await console.send("book a flight");
  const card = console.card("ask_user");
  await console.expectState(card, "input-available");
  await expect(card.getByRole("heading")).toContainText("book_flight asks you");
  await expect(card).toContainText("Which seat do you want?");
  await expect(page.getByTestId("question")).toHaveText("book_flight asks: Which seat do you want?");

  await page.reload();
  const form = card.getByRole("form", { name: "Which seat do you want?" });
  await expect(form.getByRole("button", { name: "Answer" })).toBeEnabled();
  await expectNoFindings(page, { include: ".tool-card" });

  await form.getByLabel("Ticket to").fill("hanako");
  await form.getByRole("button", { name: "Answer" }).click();
  const seat = form.getByLabel("Seat");
  await expect(seat).toBeFocused();
  await expect(seat).toHaveAccessibleDescription("Row and letter Fill this in.");
  await expect(form.getByLabel("Ticket to")).toHaveAccessibleDescription(/e-mail address/);
  await expect(form.getByLabel("Meal")).toHaveAttribute("aria-invalid", "true");
  expect(prompting.acks).toEqual([]);

  await form.getByLabel("Ticket to").fill("hanako@example.com");
  await form.getByLabel("Meal").selectOption("Rice");
  await form.getByLabel("At a window").press("Space");
  await seat.fill("12A");
  await seat.press("Enter");
  await console.expectState(card, "output-available");
  const content = { seat: "12A", mail: "hanako@example.com", bags: 1, meal: "r", window: false };
  expect(prompting.acks).toEqual([
    expect.objectContaining({ toolCallId: "question", status: "success", output: { action: "accept", content } }),
  ]);
  await expect(card).toContainText("Answered");
  await expect(card.getByRole("row", { name: "Meal" })).toContainText("Rice");
  await expect(card.getByRole("row", { name: "At a window" })).toContainText("no");
  await expect(form).toHaveCount(0);
  await expect(console.text).toContainText("That was your answer.");
  await console.expectIdle();
});

test("a prompt can be declined", async ({ prompting, console }) => {
  await console.open("ai-sdk");
  await console.send("book a flight");
  const card = console.card("ask_user");
  await card.getByRole("button", { name: "Decline" }).click();
  await expect(card).toContainText("The prompt was declined.");
  expect(prompting.acks).toEqual([expect.objectContaining({ output: { action: "decline" } })]);
  await console.expectIdle();
});

test.describe("an answer that is not taken", () => {
  test.use({ setup: { allowed: [/status of 422.*ack/] } });

  test("can be given again, and what was typed is still there", async ({ prompting, console }) => {
    await console.open("ai-sdk");
    await console.send("book a flight");
    const card = console.card("ask_user");
    await card.getByRole("textbox", { name: "Seat" }).fill("12A");
    await card.getByLabel("Meal").selectOption("Fish");
    prompting.refuseNext();
    await card.getByRole("button", { name: "Answer" }).click();
    await expect(card.getByRole("alert")).toContainText("content: not now");
    await expect(card.getByRole("button", { name: "Answer" })).toBeDisabled();
    await card.getByRole("button", { name: "Try again" }).click();
    await expect(card.getByRole("alert")).toHaveCount(0);
    await card.getByRole("button", { name: "Answer" }).click();
    await console.expectState(card, "output-available");
    expect(prompting.acks).toMatchObject([{ output: { content: { seat: "12A", meal: "f" } } }]);
    await console.expectIdle();
  });
});

test("two tabs are asked; the form goes away in the other one, and when time is up", async ({
  prompting,
  console,
  newTab,
}) => {
  await console.open("ai-sdk");
  await console.send("book a flight");
  await expect(console.card("ask_user").getByRole("button", { name: "Answer" })).toBeEnabled();
  const other = await newTab();
  await other.open("ai-sdk", console.chatId);
  await expect(other.card("ask_user").getByRole("button", { name: "Answer" })).toBeEnabled();
  prompting.expire();
  for (const tab of [console, other]) {
    await console.expectState(tab.card("ask_user"), "output-error");
    await expect(tab.card("ask_user")).toContainText("Expired");
    await expect(tab.card("ask_user")).toContainText("timed out after 60s");
    await expect(tab.card("ask_user").getByRole("button")).toHaveCount(0);
    await tab.expectIdle();
  }
  expect(prompting.acks).toEqual([]);
});
