import { fileURLToPath } from "node:url";
import type { Page } from "@playwright/test";
import { KEY } from "./nextjs";
import { expect, test } from "./support/test";

const PAYMENT = "send 50 dollars to Hanako";
const PAID = { tool: "process_payment", decisions: ["approved" as const], starts: 1, outcomes: ["ran"] };
const SCRIPT = fileURLToPath(new URL("nextjs-script.json", import.meta.url));

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

/** What only this app has. */
export function playOwnScenarios(): void {
  test.describe("Next.js", () => {
    test.describe("the key", theKey);
    test.describe("cards", cards);
    test.describe("errors", errors);
    test.describe("a slow turn", slowTurn);
  });
}

function theKey(): void {
  test("is in nothing that the browser gets", async ({ chat, page }) => {
    const seen: string[] = [];
    const reads: Promise<void>[] = [];
    page.on("request", (request) => seen.push(request.url(), JSON.stringify(request.headers())));
    page.on("response", (response) => {
      seen.push(JSON.stringify(response.headers()));
      // A response of a page that was left has no body.
      const read = response.text().then(
        (text) => seen.push(text),
        () => 0,
      );
      reads.push(read.then(() => undefined));
    });
    await chat.open();
    await chat.send(PAYMENT);
    const card = chat.cards("process_payment");
    await chat.approve(card);
    await chat.expectState(card, "done");
    await page.evaluate(() => fetch("/api/ticket", { method: "POST" }).then((response) => response.text()));
    await Promise.all(reads);
    expect(seen.filter((text) => text.includes("/_next/static")).length, "the page's scripts").toBeGreaterThan(0);
    expect(seen.filter((text) => text.includes("transaction_id")).length, "the chat").toBeGreaterThan(0);
    expect(seen.filter((text) => text.includes(KEY))).toEqual([]);
  });

  test("is needed, and is not lent to other sites or for other paths", async ({ holdpoint, served }) => {
    expect((await fetch(`${holdpoint.address}/api/chat/x/messages`)).status).toBe(401);
    expect((await fetch(`${served.address}/api/approvals`)).status).toBe(404);
    const post = (origin: string) =>
      fetch(`${served.address}/api/chat`, {
        method: "POST",
        headers: { origin, "content-type": "application/json" },
        body: JSON.stringify({ id: "x", messages: [{ role: "user", content: "hello" }] }),
      });
    expect((await post("https://evil.example")).status).toBe(403);
    expect((await post(served.address)).status).toBe(200);
  });

  test("a ticket opens one WebSocket, without the key", async ({ chat, page, holdpoint }) => {
    await chat.send("hello");
    await expect(chat.answers.last()).toContainText("demo model");
    const socket = holdpoint.address.replace("http", "ws");
    const first = await page.evaluate(openTwice, socket);
    expect(first).toEqual(["no-active", "refused"]);
    const sameOrigin = await page.evaluate(openOnce, "/api/chat/ws");
    expect(sameOrigin, "through the app, which adds the key").toBe("no-active");
  });
}

function cards(): void {
  test("are in the page that the server sends", async ({ chat, page }) => {
    await chat.send(PAYMENT);
    await chat.expectState(chat.cards("process_payment"), "waiting");
    const html = await (await page.request.get(page.url())).text();
    expect(html).toContain("Waiting for you");
    expect(html).toContain("Hanako");
  });

  test("say why a call was denied", async ({ chat, page }) => {
    await chat.send(PAYMENT);
    const card = chat.cards("process_payment");
    await card.getByLabel("Reason").fill("not today");
    await chat.deny(card);
    await expect(card).toContainText("not today");
    await expect(chat.answers.last()).toContainText("not today");
    await page.reload();
    await chat.expectState(card, "denied");
    await expect(card).toContainText("not today");
  });

  test("say that a decision is not sent yet", async ({ chat, record }) => {
    await chat.send("Aliceに30ドル、Bobに40ドル送金してください");
    const both = chat.cards("process_payment");
    await expect(both).toHaveCount(2);
    await chat.approve(both.first());
    await expect(both.first()).toContainText("Approved, sent with the other decisions");
    expect(await record.openRequests()).toBe(2);
    await chat.deny(both.last());
    await chat.expectState(both.first(), "done");
    expect(await record.openRequests()).toBe(0);
  });

  test("of a request that a newer message replaced have no buttons", async ({ chat, record }) => {
    await chat.send(PAYMENT);
    const card = chat.cards("process_payment");
    await chat.expectState(card, "waiting");
    await chat.send("hello");
    await expect(chat.answers.last()).toContainText("demo model");
    for (const again of [false, true]) {
      if (again) await chat.open();
      await expect(card).toContainText("A newer message took its place");
      await expect(card.getByRole("button")).toHaveCount(0);
    }
    await record.expectAtRest();
  });

  test("offer a browser call that a page was left with", async ({ chat, page, context, record }) => {
    // The first page never gets an answer from the device.
    await page.evaluate(() => {
      navigator.geolocation.getCurrentPosition = () => {};
    });
    await chat.send("where am I");
    const card = chat.cards("get_location");
    await chat.approve(card);
    await expect(card).toContainText("In the browser");
    await context.grantPermissions(["geolocation"]);
    await context.setGeolocation({ latitude: 35.6812, longitude: 139.7671 });
    await chat.open();
    await expect(card).toContainText("Waits for this page");
    await button(page, "Run it in this page").click();
    await chat.expectState(card, "done");
    await expect(chat.answers.last()).toContainText("35.68");
    await record.expectCalls({
      tool: "get_location",
      decisions: ["approved"],
      starts: 1,
      outcomes: ["result"],
      output: { latitude: 35.6812 },
    });
    await record.expectAtRest();
  });

  test("say why the browser could not run a call", async ({ chat, context, record }) => {
    await context.clearPermissions();
    await chat.send("where am I");
    const card = chat.cards("get_location");
    await chat.approve(card);
    await expect(card).toContainText("Failed");
    await expect(chat.answers.last()).not.toBeEmpty();
    await record.expectAtRest();
  });
}

function errors(): void {
  test("a message is sent again when the server is back, once", async ({ chat, page, holdpoint, record }) => {
    await holdpoint.kill();
    await chat.send("hello");
    await expect(page.getByRole("alert").filter({ hasText: "The Holdpoint server does not answer." })).toBeVisible();
    await expect(page.getByLabel("Message")).toBeDisabled();
    await holdpoint.start();
    await button(page, "Try again").click();
    await expect(chat.answers.last()).toContainText("demo model");
    expect(await record.said()).toEqual(["hello"]);
  });

  test("a message whose response was lost starts no second turn", async ({ chat, page, record }) => {
    // The server takes it, and then the network fails.
    await page.route(
      "**/api/chat",
      async (route) => {
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );
    await chat.send(PAYMENT);
    await button(page, "Try again").click();
    const card = chat.cards("process_payment");
    await chat.expectState(card, "waiting");
    await chat.approve(card);
    await chat.expectState(card, "done");
    await record.expectCalls({ ...PAID, output: { wallet_balance: 950 } });
    await record.expectAtRest();
    expect(await record.said()).toEqual([PAYMENT]);
  });

  for (const isTaken of [false, true]) {
    test(`a decision that the server ${isTaken ? "has already" : "did not get"} is sent again`, async ({
      chat,
      page,
      record,
    }) => {
      await chat.send(PAYMENT);
      const card = chat.cards("process_payment");
      await chat.expectState(card, "waiting");
      await page.route(
        "**/api/chat",
        async (route) => {
          if (isTaken) await route.fetch();
          await route.abort();
        },
        { times: 1 },
      );
      await chat.approve(card);
      await expect(card).toContainText("Approved, not confirmed by the server");
      await button(page, "Try again").click();
      await chat.expectState(card, "done");
      await expect(chat.answers.last()).toContainText("I sent 50 USD to Hanako");
      await record.expectCalls({ ...PAID, output: { wallet_balance: 950 } });
      await record.expectAtRest();
    });
  }

  test("a chat that cannot be loaded says so, and loads when the server is back", async ({ chat, page, holdpoint }) => {
    await chat.send("hello");
    await expect(chat.answers.last()).toContainText("demo model");
    await holdpoint.kill();
    await page.reload();
    await expect(page.getByText("The chat cannot be loaded.")).toBeVisible();
    await holdpoint.start();
    await page.getByRole("link", { name: "Try again" }).click();
    await expect(chat.answers.last()).toContainText("demo model");
  });
}

function slowTurn(): void {
  test.use({ settings: `[model]\nuse = "script:${SCRIPT}"` });

  test("is shown while it is written", async ({ chat, page }) => {
    await chat.send("story");
    await expect(chat.answers.first()).toHaveText("Once");
    await expect(button(page, "Stop")).toBeVisible();
    await expect(page.getByText("a time.")).toHaveCount(0);
    await expect(chat.answers).toHaveText(["Once", "upon", "a time."]);
    await expect(button(page, "Send")).toBeVisible();
  });

  test("goes on after a reload", async ({ chat }) => {
    await chat.send("story");
    await expect(chat.answers.first()).toHaveText("Once");
    await chat.open();
    await expect(chat.answers).toHaveText(["Once", "upon", "a time."]);
  });

  test("can be stopped on the server", async ({ chat, page }) => {
    await chat.send("story");
    await expect(chat.answers.first()).toHaveText("Once");
    await button(page, "Stop").click();
    await expect(button(page, "Send")).toBeVisible();
    // A turn that went on would be resumed now, and the button would come back when all of it is there.
    await chat.open();
    await expect(button(page, "Send")).toBeVisible();
    await expect(chat.answers).toHaveText(["Once"]);
  });

  test("whose connection is lost is shown after Try again", async ({ chat, page, holdpoint }) => {
    await chat.send("story");
    await expect(chat.answers.first()).toHaveText("Once");
    await holdpoint.kill();
    await expect(page.getByText("The connection was lost.")).toBeVisible();
    await holdpoint.start();
    await button(page, "Try again").click();
    await expect(chat.answers).toHaveText(["Once", "upon", "a time."]);
  });

  test("that fails can be tried again", async ({ chat, page, record }) => {
    await chat.send("fail");
    await expect(page.getByText("The model failed.")).toBeVisible();
    const sent = page.waitForRequest("**/api/chat");
    await button(page, "Try again").click();
    expect((await sent).postDataJSON()).toMatchObject({ trigger: "regenerate-message" });
    await expect(page.getByText("The model failed.")).toBeVisible();
    expect(await record.said()).toEqual(["fail"]);
  });
}

/** In the page: a WebSocket with a ticket, and one more with the same ticket. */
async function openTwice(server: string): Promise<string[]> {
  const response = await fetch("/api/ticket", { method: "POST" });
  const { ticket } = (await response.json()) as { ticket: string };
  const open = () =>
    new Promise<string>((resolve) => {
      const socket = new WebSocket(`${server}/api/chat/ws?ticket=${ticket}`);
      socket.onerror = () => resolve("refused");
      socket.onopen = () => socket.send(JSON.stringify({ type: "resume", requestId: "1", id: "x" }));
      socket.onmessage = ({ data }) => resolve((JSON.parse(data as string) as { type: string }).type);
    });
  return [await open(), await open()];
}

/** In the page: a WebSocket of its own origin. */
function openOnce(path: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = new WebSocket(path);
    socket.onerror = () => resolve("refused");
    socket.onopen = () => socket.send(JSON.stringify({ type: "resume", requestId: "1", id: "x" }));
    socket.onmessage = ({ data }) => resolve((JSON.parse(data as string) as { type: string }).type);
  });
}
