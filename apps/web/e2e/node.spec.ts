import { expectNoFindings } from "./axe";
import { expect, test } from "./test";

async function nodeAt(api: string): Promise<string | undefined> {
  return ((await (await fetch(`${api}/health`)).json()) as { node?: string }).node;
}

test.describe("a server on a shared log", () => {
  test.use({ setup: { nodes: 1, isKept: true } });

  test("is named, and so is the one that replaces it", async ({ console, page, server }) => {
    await console.open("sse");
    const shown = page.getByText(/^Node [0-9a-f]{8}$/);
    const first = await nodeAt(server.api);
    await expect(shown).toHaveText(`Node ${first?.slice(0, 8)}`);
    await expect(shown).toHaveAttribute("title", new RegExp(`${first}`));
    await expectNoFindings(page, { include: ".sidebar__foot" });

    await server.kill();
    await expect(shown).toHaveCount(0);
    await server.restart();
    const second = await nodeAt(server.api);
    expect(second).not.toBe(first);
    await expect(shown).toHaveText(`Node ${second?.slice(0, 8)}`);
  });
});

test("a server on its own has no node to show", async ({ console, page, server }) => {
  test.skip((await nodeAt(server.api)) !== undefined, "the suite runs on nodes");
  const answered = page.waitForResponse(/\/health$/);
  await console.open("sse");
  await answered;
  await expect(page.getByText(/^Node /)).toHaveCount(0);
});
