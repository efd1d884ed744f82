import type { ChatHold, UiMessage } from "holdpoint/protocol";
import { isFull } from "../playwright.config";
import { MODES } from "../src/modes";
import { SCREENS, screens } from "./screens";
import { expect, test } from "./test";

const HANAKO = "send 50 dollars to Hanako";
const TWO = "Aliceに30ドル、Bobに40ドル送金してください";

test.use({ setup: { isKept: true } });
test.setTimeout(90_000);

async function holdsOf(api: string, chatId: string): Promise<ChatHold[]> {
  return (await (await fetch(`${api}/api/chat/${chatId}/holds`)).json()) as ChatHold[];
}

for (const mode of isFull ? MODES : (["sse", "live", "ai-sdk-ws"] as const)) {
  for (const screen of mode === "sse" ? screens("phone") : (["desktop"] as const)) {
    test.describe(screen, () => {
      test.use(SCREENS[screen]);

      test(`a decision while the server is away arrives when it is back: ${mode}, ${screen}`, async ({
        console,
        page,
        server,
      }) => {
        await console.open(mode);
        await console.send(HANAKO);
        const card = console.card("process_payment");
        await console.expectState(card, "approval-requested");
        await server.kill();
        // The outage is shown with its time, and nothing looks current.
        await expect(page.getByRole("alert").filter({ hasText: "not answered since" })).toContainText(/\d\d:\d\d/);
        await expect(card.getByRole("timer")).toHaveCount(0);
        await console.approve(card);
        await expect(card).toContainText("Not confirmed");
        await expect(card.getByRole("alert")).toContainText("sent again");
        await expect(card).not.toContainText("Running");

        await server.restart();
        await expect(card).toContainText("Done");
        await expect(card).toContainText(/You approved this at \d\d:\d\d/);
        await expect(page.getByRole("alert").filter({ hasText: "not answered since" })).toHaveCount(0);
        await expect(console.text).toContainText("950");
        await console.expectIdle();
        await expect(console.answers).toHaveCount(1);
        const holds = await holdsOf(server.api, console.chatId);
        expect(holds).toMatchObject([{ state: "settled", decision: { kind: "approve" } }]);
        await page.reload();
        await expect(card).toContainText(/Approved by local at \d\d:\d\d/);
        await expect(console.text).toContainText("950");
      });
    });
  }

  test(`a server that dies just after the click: ${mode}`, async ({ console, server }) => {
    await console.open(mode);
    await console.send(HANAKO);
    const card = console.card("process_payment");
    await console.expectState(card, "approval-requested");
    await Promise.all([console.approve(card), server.kill()]);
    await server.restart();
    // In force or not, the page shows what is stored, and the payment ran at most once.
    await expect(card).toContainText(/Done|Outcome unknown/);
    const [hold] = await holdsOf(server.api, console.chatId);
    expect(hold).toMatchObject({ state: "settled", decision: { kind: "approve" } });
    await console.expectIdle();
  });
}

// Live asks for one approval at a time.
for (const mode of isFull ? (["sse", "ai-sdk", "ai-sdk-ws"] as const) : (["ai-sdk"] as const)) {
  test(`the first of two decisions is in force before the second, and a reload forgets nothing: ${mode}`, async ({
    console,
    page,
    server,
  }) => {
    await console.open(mode);
    await console.send(TWO);
    const cards = console.card("process_payment");
    await expect(cards).toHaveCount(2);
    await console.approve(cards.first());
    await expect(cards.first()).toContainText("Done");
    await expect(cards.last()).toContainText("Waiting for you");
    await expect
      .poll(async () => (await holdsOf(server.api, console.chatId)).map(({ state }) => state))
      .toEqual(["settled", "waiting"]);
    await expect(page.getByRole("button", { name: "Approvals, 1 waiting" })).toBeVisible();
    await page.reload();
    await expect(cards.first()).toContainText("Approved by local");
    await expect(cards.last()).toContainText("Waiting for you");
    await console.deny(cards.last(), "enough");
    await expect(cards.last()).toContainText("enough");
    await expect(console.text).not.toBeEmpty();
    await console.expectIdle();
  });
}

test("the inbox says that it is out of date, and is current again by itself", async ({ console, page, server }) => {
  await console.open("sse");
  await console.send(HANAKO);
  await console.expectState(console.card("process_payment"), "approval-requested");
  await console.visit("sse", undefined, { dock: "approvals" });
  const item = page.getByRole("region", { name: /^Approval: / });
  await expect(item).toContainText("Waiting for you");
  await server.kill();
  const panel = page.getByRole("tabpanel", { name: "Approvals" });
  await expect(panel.getByRole("status")).toContainText(/Not up to date since .*\d\d:\d\d/);
  await expect(panel).not.toContainText("Nothing is waiting for you");
  await expect(page).toHaveTitle("Holdpoint (not connected)");
  await expect(page.getByRole("button", { name: "Approvals, 1 waiting, not up to date" })).toBeVisible();
  await server.restart();
  await expect(panel.getByRole("status")).toHaveCount(0);
  await expect(item.getByRole("timer")).toContainText("left");
  await expect(page).toHaveTitle("(1) Holdpoint");
});

test("an empty inbox of a dead server does not say that nothing waits", async ({ console, page, server }) => {
  await console.open("sse", undefined, { dock: "approvals" });
  const panel = page.getByRole("tabpanel", { name: "Approvals" });
  await expect(panel).toContainText("Nothing is waiting for you");
  await server.kill();
  await expect(panel).toContainText("Not up to date since");
  await expect(panel).not.toContainText("Nothing is waiting for you");
});

test("a message that did not arrive is said to be, and sent again on request", async ({ console, page, server }) => {
  await console.open("sse");
  // What shows messages is loaded with the first one.
  await console.send("hello");
  await console.expectIdle();
  await server.kill();
  await console.send("what's the weather in Tokyo");
  const all = page.getByRole("article", { name: "You" });
  const asked = all.last();
  await expect(asked).toContainText("Not sent");
  await server.restart();
  await expect(page.getByRole("alert").filter({ hasText: "not answered since" })).toHaveCount(0);
  await asked.getByRole("button", { name: "Send again" }).click();
  await expect(console.answers).toHaveCount(2);
  await console.expectIdle();
  await expect(console.text).toContainText("Tokyo");
  await expect(all).toHaveCount(2);
  await expect(asked).not.toContainText("Not sent");
  const stored = (await (await fetch(`${server.api}/api/chat/${console.chatId}/messages`)).json()) as UiMessage[];
  expect(stored.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
});
