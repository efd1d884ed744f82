import { expect, HURRIED, pay, test } from "./payments";
import { api } from "./people";
import { SCREENS } from "./screens";

test("what is read stays when somebody else decides it, and no key, button or command decides another", async ({
  bobReads,
  decides,
  ledger,
  server,
}) => {
  const bob = await bobReads(1, 2, 3);
  await bob.moveTo(pay(2));
  const denied = { approved: false, reason: "not this vendor" };
  await decides("carol", 2, denied);

  // The row leaves the list. What is read does not change, and says what has become of it.
  await expect(bob.row(pay(2))).toHaveCount(0);
  const pane = bob.ended;
  await expect(pane.getByRole("heading", { name: pay(2), level: 2 })).toBeVisible();
  await expect(pane.getByRole("status").last()).toContainText(/Denied by carol at .*not this vendor/);
  await expect(pane.getByRole("button", { name: /^(Approve|Deny|Edit|Answer)/ })).toHaveCount(0);
  await bob.expectNoFindings();
  // However long somebody looks at a paper invoice: the moment after a decision is over.
  await expect(pane).toHaveAttribute("data-armed", "true");
  for (const key of ["a", "d", "e", "r", "x"]) await bob.page.keyboard.press(key);
  await expect(bob.page.getByRole("dialog")).toHaveCount(0);
  await expect(bob.page.getByPlaceholder("Reason")).toHaveCount(0);
  await expect(bob.page.getByRole("toolbar", { name: /selected/ })).toHaveCount(0);
  await bob.page.keyboard.press("Control+k");
  await bob.page.keyboard.type("deny");
  await expect(bob.page.getByRole("option")).toHaveCount(0);
  await bob.page.keyboard.press("Escape");
  expect(ledger.runs).toEqual([]);
  expect(await api(server.api, "carol").approvals()).toHaveLength(2);

  // The person moves, and decides what they see.
  await bob.moveTo(pay(3));
  await bob.page.keyboard.press("a");
  await expect(bob.results.last()).toContainText(pay(3));
  await expect.poll(() => ledger.runs).toEqual([{ vendor: "Vendor 3", amount: 300 }]);
  // After a decision of one's own it moves on by itself.
  await bob.expectReady(pay(1));
});

for (const [cause, end, words] of [
  [
    "a newer message withdraws it",
    async (url: string) => api(url, "ann").say("chat-2", "never mind", 2),
    /A newer message took its place/,
  ],
  ["the turn is stopped", async (url: string) => api(url, "ann").stop("chat-2"), /The turn was stopped/],
  ["its chat is deleted", async (url: string) => api(url, "ann").deleteChat("chat-2"), /This request has ended/],
] as const) {
  test(`what is read stays when ${cause}`, async ({ bobReads, ledger, server }) => {
    const bob = await bobReads(1, 2, 3);
    await bob.moveTo(pay(2));
    await end(server.api);
    const pane = bob.ended;
    await expect(pane.getByRole("heading", { name: pay(2), level: 2 })).toBeVisible();
    await expect(pane.getByRole("status").last()).toContainText(words);
    await expect(pane).toHaveAttribute("data-armed", "true");
    await bob.page.keyboard.press("a");
    await bob.page.keyboard.press("k");
    await bob.expectReady(pay(1));
    expect(ledger.runs).toEqual([]);
    expect(await api(server.api, "carol").approvals()).toHaveLength(2);
  });
}

test.describe("time", () => {
  // Long enough to be read on a busy machine: it is asked for when everything else is ready.
  test.use({ hurriedSec: 15 });

  test("what is read stays when it expires, and no key or button pays it, or another", async ({
    ask,
    bobReads,
    ledger,
    server,
  }) => {
    const bob = await bobReads(1);
    await ask(HURRIED);
    await expect(bob.row(pay(HURRIED))).toBeVisible();
    await bob.moveTo(pay(HURRIED));
    const id = await bob.pane.getAttribute("data-approval");
    await expect(bob.ended).toBeVisible({ timeout: 40_000 });

    await expect(bob.row(pay(HURRIED))).toHaveCount(0);
    await expect(bob.ended.getByRole("heading", { name: pay(HURRIED), level: 2 })).toBeVisible();
    await expect(bob.ended.locator(".pill")).toHaveText("Expired");
    await expect(bob.ended.getByRole("status").last()).toContainText("Nobody answered in time.");
    await expect(bob.ended.getByRole("button", { name: /^(Approve|Deny|Edit|Answer)/ })).toHaveCount(0);
    await bob.expectNoFindings();
    await expect(bob.ended).toHaveAttribute("data-armed", "true");
    for (const key of ["a", "d", "e", "r", "x"]) await bob.page.keyboard.press(key);
    await expect(bob.page.getByRole("dialog")).toHaveCount(0);
    await expect(bob.page.getByPlaceholder("Reason")).toHaveCount(0);
    // Nor does somebody else who comes too late.
    expect(await api(server.api, "carol").decide(id ?? "", { approved: true })).toBe(410);
    expect(ledger.runs).toEqual([]);

    // It is the same in the record, and after the person has moved on.
    await bob.page.keyboard.press("k");
    await bob.expectReady(pay(1));
    await bob.page.keyboard.press("a");
    await expect.poll(() => ledger.runs).toEqual([{ vendor: "Vendor 1", amount: 100 }]);
    await bob.open(`/hold/${id}`);
    await expect(bob.pane.locator(".pill")).toHaveText("Expired");
    expect(ledger.runs).toHaveLength(1);
  });
});

test("a request that is asked again is another one, and the first stays as it ended", async ({
  bobReads,
  decides,
  ledger,
  server,
}) => {
  const bob = await bobReads(1);
  await decides("carol", 1, { approved: false });
  const pane = bob.ended;
  await expect(pane).toContainText("Denied by carol");
  await api(server.api, "ann").say("chat-1", "pay 1", 2);
  await expect(bob.row(pay(1))).toBeVisible();
  await expect(pane).toContainText("Denied by carol");
  await expect(pane).toHaveAttribute("data-armed", "true");
  await bob.page.keyboard.press("a");
  await bob.moveTo(pay(1));
  expect(ledger.runs).toEqual([]);
  await bob.page.keyboard.press("a");
  await expect.poll(() => ledger.runs).toEqual([{ vendor: "Vendor 1", amount: 100 }]);
});

test("another list is the person's own move; what others do in it is not", async ({ bobReads, decides, ledger }) => {
  const bob = await bobReads(1, 2, 3);
  const search = bob.page.getByRole("searchbox");
  await search.fill("Vendor 2");
  await bob.expectReady(pay(2));
  await search.blur();
  await decides("carol", 2, { approved: false });
  const pane = bob.ended;
  await expect(pane).toContainText("Denied by carol");
  await expect(bob.page.getByText("Nothing matches")).toBeVisible();
  await bob.page.keyboard.press("a");
  await bob.page.getByRole("button", { name: "Show everything" }).click();
  await bob.expectReady(pay(1));
  expect(ledger.runs).toEqual([]);
});

test("nothing changes while the server is away, and what happened meanwhile is told", async ({
  bobReads,
  idOf,
  ledger,
  server,
}) => {
  const bob = await bobReads(1, 2);
  const id = await idOf(1);
  await server.kill();
  await expect(bob.page.getByText(/Not up to date since/)).toBeVisible();
  await expect(bob.pane.getByRole("heading", { name: pay(1), level: 2 })).toBeVisible();
  await server.restart();
  expect(await api(server.api, "carol").decide(id, { approved: false })).toBe(200);
  await expect(bob.ended).toContainText("Denied by carol");
  await bob.page.keyboard.press("a");
  await expect(bob.row(pay(2))).toBeVisible();
  expect(ledger.runs).toEqual([]);
});

test.describe("on a phone", () => {
  test.use({ contextOptions: SCREENS.phone });

  test("what is open stays open, also after a reload", async ({ ask, decides, inboxOf, ledger }) => {
    await ask(1, 2, 3);
    const bob = await inboxOf("bob");
    await bob.row(pay(2)).tap();
    await bob.expectReady(pay(2));
    await decides("carol", 2, { approved: false });
    const pane = bob.ended;
    for (const again of [false, true]) {
      if (again) await bob.page.reload();
      await expect(pane.getByRole("heading", { name: pay(2), level: 2 })).toBeVisible();
      await expect(pane).toContainText("Denied by carol");
      await expect(pane.getByRole("button", { name: /^(Approve|Deny)/ })).toHaveCount(0);
      await bob.expectNoFindings();
    }
    await pane.getByRole("button", { name: /^Next request/ }).tap();
    await expect(bob.pane.getByRole("heading", { name: /Vendor [13]/, level: 2 })).toBeVisible();
    await bob.page.goBack();
    await expect(bob.row(pay(1))).toBeVisible();
    await expect(bob.row(pay(2))).toHaveCount(0);
    expect(ledger.runs).toEqual([]);
  });
});
