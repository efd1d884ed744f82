import { createServer, type Server } from "node:http";
import type { App } from "./support/app";
import { CardPage } from "./support/card-page";
import { playQuorum } from "./support/quorum";
import { PAYMENT, paid, playScenarios } from "./support/scenarios";
import { expect, test } from "./support/test";

const app: App = {
  name: "vite",
  example: "vite",
  key: "the-key-of-the-app-7e21",
  isOpen: true,
  serve: (port) => ["run", "preview", "--", "--host", "127.0.0.1", "--port", String(port), "--strictPort"],
  page: (page, address, chatId) => new CardPage(page, address, chatId),
};

playScenarios(app);
playQuorum();

test.describe("vite only", () => {
  test("an approval that is given while the server is down arrives once", async ({ chat, page, record, holdpoint }) => {
    await chat.send(PAYMENT);
    const card = chat.cards("process_payment");
    await chat.expectState(card, "waiting");
    await holdpoint.kill();
    await expect(page.getByRole("status")).toContainText("No answer since");
    await chat.approve(card);
    await expect(card).toHaveAttribute("data-state", "retrying");
    await expect(card).toContainText("It is sent again");
    await holdpoint.start();
    await chat.expectState(card, "done");
    await expect(page.getByRole("status")).toContainText("Connected");
    await record.expectCalls(paid(950));
    await record.expectAtRest();
  });

  test("the inbox decides, and empties", async ({ chat, page, record }) => {
    const inbox = page.getByRole("complementary", { name: "Inbox" });
    await expect(inbox).toContainText("Nothing waits for you.");
    await chat.send(PAYMENT);
    await chat.expectState(chat.cards("process_payment"), "waiting");
    await expect(inbox).toContainText("Hanako");
    await inbox.getByRole("button", { name: "Approve" }).click();
    await chat.expectState(chat.cards("process_payment"), "done");
    await expect(inbox).toContainText("Nothing waits for you.");
    await record.expectCalls(paid(950));
  });

  test("the inbox is current after a restart", async ({ chat, page, holdpoint }) => {
    const inbox = page.getByRole("complementary", { name: "Inbox" });
    await expect(inbox).toContainText("Nothing waits for you.");
    await holdpoint.restart();
    await chat.send("hello");
    await expect(chat.answers).toContainText("I am the demo model");
    await fetch(`${holdpoint.address}/api/chat`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ id: "elsewhere", messages: [{ role: "user", content: PAYMENT }] }),
    });
    await expect(inbox).toContainText("Hanako");
    await expect(inbox.getByRole("link")).toHaveAttribute("href", "?chat=elsewhere");
  });

  test("a request that a newer message replaced is superseded, not denied", async ({ chat, record }) => {
    await chat.send(PAYMENT);
    const card = chat.cards("process_payment");
    await chat.expectState(card, "waiting");
    await chat.send("hello");
    await expect(card).toHaveAttribute("data-state", "superseded");
    await expect(card).toContainText("A newer message took its place");
    await record.expectCalls({ tool: "process_payment", decisions: [], starts: 0, outcomes: ["superseded"] });
  });

  test("a stop ends a turn that waits", async ({ chat, page, record }) => {
    await chat.send(PAYMENT);
    const card = chat.cards("process_payment");
    await chat.expectState(card, "waiting");
    await page.getByRole("button", { name: "Stop" }).click();
    await expect(card).toHaveAttribute("data-state", "stopped");
    await record.expectCalls({ tool: "process_payment", decisions: [], starts: 0, outcomes: ["stopped"] });
  });

  test.describe("with a tool that never ends", () => {
    let endpoint: Server;
    let asked: Promise<void>;

    test.use({
      // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of the fixtures from the pattern.
      settings: async ({}, use) => {
        asked = new Promise((resolve) => {
          endpoint = createServer(() => resolve());
        });
        await new Promise<void>((resolve) => endpoint.listen(0, "127.0.0.1", resolve));
        const { port } = endpoint.address() as { port: number };
        await use(slowTool(port));
        endpoint.closeAllConnections();
        endpoint.close();
      },
    });

    test("a call whose server was killed is lost", async ({ chat, holdpoint, record }) => {
      await chat.send("call slow_tool {}");
      const card = chat.cards("slow_tool");
      await expect(card).toHaveAttribute("data-state", "running");
      await asked;
      await holdpoint.restart();
      await expect(card).toHaveAttribute("data-state", "interrupted");
      await expect(card).toContainText("Whether it was carried out is not known");
      await record.expectCalls({ tool: "slow_tool", decisions: [], starts: 1, outcomes: ["interrupted"] });
    });
  });
});

const slowTool = (port: number) => `
[tools.slow_tool]
execution = "server"
description = "Never ends"
url = "http://127.0.0.1:${port}/"
allow_private = true
approval = "never"
input_schema = { type = "object" }
`;
