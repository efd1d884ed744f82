import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { Page } from "@playwright/test";
import type { ServerStatus } from "holdpoint/protocol";
import { InboxPage } from "./inboxPage";
import { scratchFile } from "./scratch";
import { expect, test } from "./test";

const fake = fileURLToPath(new URL("../../../tests/mcp/fake.mjs", import.meta.url));
const folder = fileURLToPath(new URL("./screenshots/", import.meta.url));

/** It writes a line and ends, again and again. */
const BROKEN = "console.error('no token: set <b>TOKEN</b>'); process.exit(3)";

const settings = `
[[mcp]]
name = "works"
command = ["node", ${JSON.stringify(fake)}]

[[mcp]]
name = "broken"
command = ["node", "-e", ${JSON.stringify(BROKEN)}]

[tools.transfer]
execution = "server"
title = "Transfer money"
description = "Moves money"
url = "http://127.0.0.1:9/"
allow_private = true
approval = "always"
approval_timeout_sec = 3600
approvers = { by = ["group:finance"], exclude_self = true, quorum = 2 }
input_schema = { type = "object" }
`;

/**
 * The page gets what the server said once both programs had been started. Later answers differ: the lines of a program
 * that is started again are gone until it writes new ones.
 */
async function freeze(page: Page, api: string): Promise<void> {
  let status: ServerStatus | undefined;
  await expect
    .poll(async () => {
      status = (await (await fetch(`${api}/api/status`)).json()) as ServerStatus;
      return status.mcp.map(({ state, problem, lastLines }) => [state, problem !== undefined, lastLines.length > 0]);
    })
    .toEqual([
      ["connected", false, false],
      ["connecting", true, true],
    ]);
  await page.route("**/api/status", (route) => route.fulfill({ json: status }));
}

test.describe("a server without keys", () => {
  test.use({ setup: { args: ["--config", scratchFile("status.toml", settings)] } });

  test("shows what it consists of", async ({ console, page, server }) => {
    await freeze(page, server.api);
    await console.open("sse");
    await page.getByRole("link", { name: "Status" }).click();
    await expect(page).toHaveURL(`${server.url}/status`);
    await expect(page.getByRole("link", { name: "Status" })).toHaveAttribute("aria-current", "page");
    await expect(page.getByRole("link", { name: /^Inbox/ })).not.toHaveAttribute("aria-current");
    const about = page.getByRole("region", { name: "Server", exact: true });
    await expect(about).toContainText(/Version\d+\.\d+/);
    await expect(about).toContainText("demo");

    const mcp = page.getByRole("list", { name: "MCP servers" });
    const works = mcp.locator('[data-mcp="works"]');
    await expect(works).toHaveAttribute("data-mcp-state", "connected");
    await expect(works).toContainText("works_ask");
    const broken = mcp.locator('[data-mcp="broken"]');
    await expect(broken).toContainText("Not connected");
    // What its program wrote is shown as it is.
    await expect(broken.locator("pre")).toContainText("no token: set <b>TOKEN</b>");
    await expect(broken.locator(".tool-card__error")).not.toBeEmpty();

    const transfer = page.locator('[data-tool-status="transfer"]');
    await expect(transfer).toContainText("Asks every time");
    await expect(transfer).toContainText("group:finance; not the owner of the chat; 2 people must approve");
    await expect(transfer).toContainText("within 1 hour");
    await expect(page.locator('[data-tool-status="works_ask"]')).toContainText("MCP server works");
    await expect(page.getByRole("region", { name: "Limits" })).toContainText("max_steps");
    await new InboxPage(page, server.url).expectNoFindings();
    await page.screenshot({ path: `${folder}status.png`, animations: "disabled" });

    // The path is a place: a reload stays, and Back goes to the chat.
    await page.reload();
    await expect(about).toBeVisible();
    await page.goBack();
    await expect(console.composer).toBeVisible();
  });

  test.describe("on a phone", () => {
    test.use({ viewport: { width: 390, height: 844 }, colorScheme: "dark" });

    test("nothing is wider than the screen", async ({ page, server }) => {
      await freeze(page, server.api);
      await page.goto(`${server.url}/status`);
      await expect(page.getByRole("region", { name: "Limits" })).toContainText("max_steps");
      await expect(page.locator('[data-mcp="broken"] pre')).toContainText("no token");
      const over = await page.evaluate(() =>
        [...document.querySelectorAll(".status *")].filter(
          (part) => part.getBoundingClientRect().right > window.innerWidth && part.closest("pre") === null,
        ),
      );
      expect(over).toEqual([]);
      await new InboxPage(page, server.url).expectNoFindings();
      await page.screenshot({ path: `${folder}status-phone.png`, animations: "disabled" });
    });
  });
});

test.describe("a server with tools that the model is not offered", () => {
  // Chat Completions takes 128 tools. Nothing is asked of the model.
  const tool = (number: number) =>
    `[tools.t${number}]\ndescription = "Does it."\nurl = "https://x.example/"\ninput_schema = {}\n`;
  const many = Array.from({ length: 130 }, (_, at) => tool(100 + at)).join("");
  const mcp = `[[mcp]]\nname = "works"\ncommand = ["node", ${JSON.stringify(fake)}]\n[tools.works_typo]\napproval = "always"\n`;
  const model = `[model]\nuse = "openai:m"\nbase_url = "http://127.0.0.1:9/v1"\n`;
  test.use({ setup: { args: ["--config", scratchFile("warnings.toml", `${model}${many}${mcp}`)] } });

  test("warns of them", async ({ page, server }) => {
    await page.goto(`${server.url}/status`);
    const tools = page.getByRole("region", { name: "Tools" });
    for (const left of ["t228", "t229"]) {
      await expect(tools.locator("p", { hasText: "Warning:" }).filter({ hasText: left })).toContainText("128 tools");
    }
    await expect(tools.locator("p", { hasText: "Warning:" }).filter({ hasText: "t227" })).toHaveCount(0);
    const works = page.locator('[data-mcp="works"]');
    await expect(works).toHaveAttribute("data-mcp-state", "connected");
    await expect(works.locator("p", { hasText: "Warning:" })).toContainText("works_typo");
    await new InboxPage(page, server.url).expectNoFindings();
  });
});

test.describe("a server with keys", () => {
  const entry = (key: string, more: string) =>
    `[[auth.keys]]\nkey_sha256 = "${createHash("sha256").update(key).digest("hex")}"\n${more}\n`;
  const keys = [
    entry("key-of-ann-0123456789", 'subject = "ann"'),
    entry("key-of-root-0123456789", 'subject = "root"\nroles = ["user", "admin"]'),
  ].join("\n");
  test.use({ setup: { args: ["--config", scratchFile("keys.toml", keys)] } });

  for (const [subject, isAdmin] of [
    ["ann", false],
    ["root", true],
  ] as const) {
    test(`shows it to ${isAdmin ? "an admin" : "nobody else"}`, async ({ page, server }) => {
      const asked: string[] = [];
      page.on("request", (request) => asked.push(new URL(request.url()).pathname));
      await page.addInitScript((key) => sessionStorage.setItem("holdpoint-key", key), `key-of-${subject}-0123456789`);
      await page.goto(`${server.url}/status`);
      await expect(page.locator(".account__name")).toHaveText(subject);
      await expect(page.getByRole("link", { name: "Status" })).toHaveCount(isAdmin ? 1 : 0);
      if (isAdmin) {
        await expect(page.getByRole("region", { name: "Server", exact: true })).toContainText("demo");
      } else {
        await expect(page.getByRole("heading", { name: "The status is for admins" })).toBeVisible();
        expect(asked).not.toContain("/api/status");
      }
    });
  }
});
