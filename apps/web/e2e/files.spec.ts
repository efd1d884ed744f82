import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { InboxPage } from "./inboxPage";
import { signIn, withPeople } from "./people";
import { scratchFile } from "./scratch";
import { scripted } from "./scripts";
import { expect, test } from "./test";

const folder = fileURLToPath(new URL("./screenshots/", import.meta.url));

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const PAGE = "<script>alert(1)</script>";

const result = {
  // Links that the server did not make.
  structuredContent: {
    elsewhere: { type: "image", mimeType: "image/png", bytes: 1, url: "https://example.com/api/chat/c/files/k/0" },
    other: { type: "image", mimeType: "image/png", bytes: 1, url: "/api/chat/c/files/another/0" },
  },
  content: [
    { type: "image", mimeType: "image/png", data: PIXEL },
    { type: "image", mimeType: "image/webp", data: Buffer.from("no picture").toString("base64") },
    {
      type: "resource",
      resource: { uri: "file:///page.html", mimeType: "text/html", blob: Buffer.from(PAGE).toString("base64") },
    },
  ],
};

const mcp = scratchFile(
  "files.mjs",
  `import { createInterface } from "node:readline";
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const send = (id, result) => say({ id, result });
const serverInfo = { name: "files", version: "1" };
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  // An older server: it does not know how connections begin today.
  if (method === "server/discover") say({ id, error: { code: -32601, message: "no such method" } });
  if (method === "initialize") send(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo });
  if (method === "tools/list") send(id, { tools: [{ name: "draw", description: "draw", inputSchema: { type: "object" } }] });
  if (method === "tools/call") send(id, ${JSON.stringify(result)});
});
`,
);
const settings = `[[mcp]]\nname = "art"\ncommand = ["node", ${JSON.stringify(mcp)}]\napproval = "never"\n`;
const model = scripted([{ toolCall: { name: "art_draw", input: {} } }], [{ text: ["Here it is."] }]);

// With keys: a link alone would not be answered.
test.use({ setup: { args: [...withPeople(settings), ...model] } });

test("files of a call are shown as pictures, or to save, and never run", async ({ console, page, server }) => {
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await signIn(page, "ann");
  await page.goto(`${server.url}/#mode=sse`);
  await console.send("draw");
  const card = console.card("art_draw");
  await console.expectIdle();
  const files = card.getByRole("list", { name: /^Files of/ }).getByRole("listitem");
  await expect(files).toHaveCount(3);
  const picture = files.nth(0).getByRole("img");
  await files.nth(0).scrollIntoViewIfNeeded();
  await expect(picture).toHaveAttribute("src", /^blob:/);
  await expect.poll(() => picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(1);
  await files.nth(1).scrollIntoViewIfNeeded();
  await expect(files.nth(1)).toContainText("not a picture that can be shown");
  await expect(files.nth(1).getByRole("img")).toHaveCount(0);

  const last = files.nth(2);
  await expect(last.getByRole("img")).toHaveCount(0);
  await expect(last).toContainText("text/html");
  const download = page.waitForEvent("download");
  await last.getByRole("button", { name: "Download file-3.bin" }).click();
  const saved = await download;
  expect(saved.suggestedFilename()).toBe("file-3.bin");
  expect(readFileSync(await saved.path(), "utf8")).toBe(PAGE);
  await expect(page.locator(".banner")).toHaveCount(0);
  await picture.scrollIntoViewIfNeeded();
  await page.screenshot({ path: `${folder}files.png`, animations: "disabled" });
  await new InboxPage(page, server.url).expectNoFindings();

  // The record has the same links.
  await page.reload();
  await files.nth(0).scrollIntoViewIfNeeded();
  await expect(picture).toHaveAttribute("src", /^blob:/);
  expect(asked.filter((url) => url.includes("example.com") || url.includes("/another/"))).toEqual([]);
});

test.describe("a file that cannot be read", () => {
  test.use({ setup: { args: [...withPeople(settings), ...model], allowed: [/status of 404/] } });

  test("is said to be", async ({ console, page, server }) => {
    const problem = {
      type: "about:blank",
      title: "Not found",
      status: 404,
      code: "not-found",
      detail: "Nothing is here.",
    };
    await page.route("**/files/*/*", (route) =>
      route.fulfill({ status: 404, contentType: "application/problem+json", body: JSON.stringify(problem) }),
    );
    await signIn(page, "ann");
    await page.goto(`${server.url}/#mode=sse`);
    await console.send("draw");
    const first = console
      .card("art_draw")
      .getByRole("list", { name: /^Files of/ })
      .getByRole("listitem")
      .first();
    await console.expectIdle();
    await first.scrollIntoViewIfNeeded();
    await expect(first.locator(".files__picture")).toContainText("Nothing is here.");
    await first.getByRole("button", { name: /^Download/ }).click();
    await expect(first.getByRole("alert")).toContainText(/^It was not downloaded: .*Nothing is here\./);
  });
});
