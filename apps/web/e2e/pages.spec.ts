import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { test as base, expect } from "./test";

/** Another site, with responses that the panel has to tell apart. */
const test = base.extend<{ site: string }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern here
  site: async ({}, use) => {
    const server: Server = createServer((request, response) => {
      const html = { "content-type": "text/html" };
      switch (request.url) {
        case "/fine":
          return response.writeHead(200, html).end("<h1>Fine</h1>");
        case "/refuses":
          return response.writeHead(200, { ...html, "x-frame-options": "DENY" }).end("<h1>Not here</h1>");
        case "/broken":
          return response.writeHead(500, html).end();
        default:
          return response.writeHead(404).end();
      }
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.closeAllConnections();
    server.close();
  },
});

const REFUSED = [/frame-ancestors|X-Frame-Options|chrome-error|ERR_BLOCKED_BY_RESPONSE|status of 5\d\d/];

test.describe("a page that the browser may not have shown", () => {
  test.use({ setup: { allowed: REFUSED } });

  for (const path of ["/fine", "/refuses", "/broken"]) {
    test(`is not said to be done: ${path}`, async ({ console, page, site }) => {
      await console.open("sse");
      await console.send(`open ${site}${path}`);
      const card = console.card("open-url");
      await expect(card.locator(".pill")).toHaveText("Opened, not confirmed");
      await expect(card).toContainText("The browser does not report whether the site allows embedding");
      await expect(card.getByRole("link", { name: "New tab" })).toHaveAttribute("href", `${site}${path}`);
      await expect(page.getByRole("tabpanel", { name: "Pages" })).toContainText("Open those in a new tab");
      await console.expectIdle();
    });
  }
});

test.describe("an address where nobody is", () => {
  test.use({ setup: { allowed: [/ERR_CONNECTION_REFUSED|chrome-error/] } });

  test("is not said to be done either, to the person or to the model", async ({ console }) => {
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    await console.open("sse");
    await console.send(`open http://127.0.0.1:${port}/`);
    const card = console.card("open-url");
    await expect(card.locator(".pill")).toHaveText("Opened, not confirmed");
    await console.expectIdle();
  });
});

test.describe("what the browser asks", () => {
  test("is said where to look for, for as long as it is not answered", async ({ console, page, context }) => {
    await context.clearPermissions();
    await page.addInitScript(() => {
      // A permission prompt that nobody answers.
      navigator.geolocation.getCurrentPosition = () => undefined;
      const query = navigator.permissions.query.bind(navigator.permissions);
      navigator.permissions.query = async (permission) =>
        permission.name === "geolocation"
          ? (Object.assign(new EventTarget(), { state: "prompt", name: "geolocation" }) as PermissionStatus)
          : query(permission);
    });
    await console.open("ai-sdk");
    await console.send("where am I");
    const card = console.card("get_location");
    await console.approve(card);
    await expect(card).toContainText("In the browser");
    await expect(card.getByRole("status")).toContainText("Look for its question at the top of the window");
  });
});
