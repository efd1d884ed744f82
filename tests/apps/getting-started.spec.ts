import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test as base, expect, type Page } from "@playwright/test";
import { Holdpoint } from "./support/holdpoint";
import { answers, folderOf, repository, run, start } from "./support/process";
import { ChatRecord } from "./support/record";
import { PAYMENT, paid } from "./support/scenarios";
import { prepared } from "./support/setup";

/** The front end of docs/getting-started.md, made by its own commands and from its own files. */
const page = readFileSync(join(repository, "docs/getting-started.md"), "utf8");
const [, section = ""] = page.split(/^## 3\. .*$/m);
const [chapter = ""] = section.split(/^## 4\. /m);
const block = (language: string, index = 0) => {
  const blocks = [...chapter.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, "gs"))];
  const code = blocks[index]?.[1];
  if (code === undefined) throw new Error(`The third chapter has no block ${index} of ${language}.`);
  return code;
};

const test = base.extend<{ holdpoint: Holdpoint }, { ports: number[]; address: string }>({
  ports: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of the fixtures from the pattern.
    async ({}, use, { parallelIndex }) => use(prepared().ports.slice(2 * parallelIndex)),
    { scope: "worker" },
  ],
  address: [
    async ({ ports: [port, agent] }, use) => {
      const folder = folderOf("getting-started");
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder, { recursive: true });
      await run("sh", ["-euc", block("sh")], { cwd: folder });
      const app = join(folder, "my-agent");
      writeFileSync(join(app, "index.html"), block("html"));
      writeFileSync(join(app, "tsconfig.json"), block("json"));
      const component = block("tsx");
      expect(component).toContain("http://localhost:8787");
      writeFileSync(join(app, "src/main.tsx"), component.replace("http://localhost:8787", `http://localhost:${agent}`));
      await run("npx", ["tsc"], { cwd: app });
      const command = `exec ${block("sh", 1).trim()} --host 127.0.0.1 --port ${port} --strictPort`;
      const served = start("sh", ["-euc", command], { cwd: app });
      const address = `http://127.0.0.1:${port}`;
      await answers(address, served);
      await use(address);
      await served.kill();
    },
    // It is installed from the registry.
    { scope: "worker", timeout: 600_000 },
  ],
  holdpoint: async ({ ports: [, agent = 0] }, use) => {
    const holdpoint = new Holdpoint(agent, "");
    await holdpoint.start();
    await use(holdpoint);
    await holdpoint.remove();
  },
});

/** The chat that the page has made, by the id in its address. */
function recordOf(page: Page, holdpoint: Holdpoint): ChatRecord {
  const id = new URL(page.url()).searchParams.get("chat");
  if (id === null) throw new Error("The address has no chat.");
  return new ChatRecord(holdpoint, id);
}

test.beforeEach(async ({ page, address, holdpoint: _ }) => {
  await page.goto(address);
  await expect(page.getByRole("status")).toContainText("connected");
  await page.getByLabel("Message").fill(PAYMENT);
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByRole("heading", { name: "process_payment" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Approve" })).toBeVisible();
});

test("a payment is approved", async ({ page, holdpoint }) => {
  await page.getByRole("button", { name: "Approve" }).click();
  await expect(page.getByText("I sent 50 USD to Hanako")).toBeVisible();
  await recordOf(page, holdpoint).expectCalls(paid(950));
});

test("a payment is denied", async ({ page }) => {
  await page.getByRole("button", { name: "Deny" }).click();
  await expect(page.getByText("Denied", { exact: true })).toBeVisible();
});

test("the card is still there after a reload", async ({ page, holdpoint }) => {
  await page.reload();
  await page.getByRole("button", { name: "Approve" }).click();
  await expect(page.getByText("I sent 50 USD to Hanako")).toBeVisible();
  await recordOf(page, holdpoint).expectCalls(paid(950));
});

test("an approval while the server is down is sent by Try again, and the payment is made once", async ({
  page,
  holdpoint,
}) => {
  await holdpoint.kill();
  await expect(page.getByRole("status")).toContainText("No answer from");
  await page.getByRole("button", { name: "Approve" }).click();
  await expect(page.getByText("Approval given. Waiting for the server.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Try again" })).toBeVisible();
  await holdpoint.start();
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByText("I sent 50 USD to Hanako")).toBeVisible();
  await recordOf(page, holdpoint).expectCalls(paid(950));
});
