import { isFull } from "../playwright.config";
import { MODES } from "../src/modes";
import { expectNoFindings } from "./axe";
import { expectNoOverflow, SCREENS, screens } from "./screens";
import { configured, gatedTool, scripted } from "./scripts";
import { expect, expectNothingToDo, test } from "./test";

/** 163 lines of JSON, with the dangerous one far down. */
const LONG = {
  environment: "production",
  services: Array.from({ length: 20 }, (_, at) => ({
    name: `service-${at}`,
    image: `registry.example/${"team/".repeat(6)}service-${at}:1.${at}.0`,
    replicas: at % 4,
    limits: {
      cpu: `${at}00m`,
      memory: "256Mi",
      note: "within what the cluster has, and no more than that at any time",
    },
  })),
  deleteVolumes: true,
};

test.use({
  setup: {
    args: [
      ...configured(gatedTool("deploy")),
      ...scripted([{ toolCall: { name: "deploy", input: LONG } }], [{ text: ["done"] }]),
    ],
  },
});

for (const screen of screens("desktop", "phone")) {
  test.describe(screen, () => {
    test.use(SCREENS[screen]);

    test(`a long input is counted, and Approve shows it first, ${screen}`, async ({ console, page, server }) => {
      await console.open("sse");
      await console.send("deploy");
      const card = console.card("deploy");
      await console.expectState(card, "approval-requested");
      const more = card.getByRole("button", { name: /^\d+ more lines$/ });
      await expect(more).toBeVisible();
      await expectNoOverflow(page);

      await card.getByRole("button", { name: /^Approve/ }).focus();
      await page.keyboard.press("Enter");
      const review = page.getByRole("dialog", { name: /Deploy a release/ });
      await expect(review).toBeVisible();
      await expectNoOverflow(page);
      await expectNoFindings(page, { include: ".review" });
      // Opening it decided nothing.
      const waiting = (await (await fetch(`${server.api}/api/approvals`)).json()) as unknown[];
      expect(waiting).toHaveLength(1);

      await review.getByRole("tab", { name: "JSON" }).click();
      await expect(review.getByRole("tabpanel", { name: "JSON" })).toContainText('"environment": "production"');
      await review.getByRole("tab", { name: "Fields" }).click();

      // Page by page, by keyboard only, until everything was in view.
      const next = review.getByRole("button", { name: /lines? not seen yet$/ });
      const approve = review.getByRole("button", { name: /^Approve/ });
      await expect(approve).toContainText(/with \d+ lines unread/);
      for (let pages = 0; pages < 80 && (await next.isVisible()); pages++) {
        const before = (await next.textContent()) ?? "";
        await next.focus();
        await page.keyboard.press("Enter");
        // Every page has lines that were not in view before.
        await expect(next.filter({ hasText: before })).toHaveCount(0);
        await expectNothingToDo(page);
      }
      await expect(next).toHaveCount(0);
      await expect(review.getByRole("row", { name: /deleteVolumes/ })).toBeInViewport();
      await expect(approve).toHaveText("Approve");
      await approve.focus();
      await page.keyboard.press("Enter");
      await expect(review).toHaveCount(0);
      await expect(console.text).toContainText("done");
      await console.expectIdle();
    });
  });
}

for (const mode of isFull ? MODES : (["sse"] as const)) {
  test(`a card that is looked at stays when the record is read: ${mode}`, async ({ console, page }) => {
    await page.addInitScript(() => {
      const watch = () =>
        new MutationObserver((changes) => {
          const removed = changes.flatMap(({ removedNodes }) => [...removedNodes]);
          if (removed.some((node) => node instanceof HTMLElement && node.matches(".tool-card, .review")))
            document.documentElement.dataset.removed = "true";
        }).observe(document.body, { childList: true, subtree: true });
      addEventListener("DOMContentLoaded", watch);
    });
    await console.open(mode);
    const read = page.waitForResponse((response) => response.url().endsWith("/messages"));
    await console.send("deploy");
    const card = console.card("deploy");
    await console.expectState(card, "approval-requested");
    await card.getByRole("button", { name: /^Approve/ }).focus();
    await page.keyboard.press("Enter");
    await (await read).finished();
    await expectNothingToDo(page);
    await expect(page.getByRole("dialog", { name: /Deploy a release/ })).toBeVisible();
    await expect(page.locator("html")).not.toHaveAttribute("data-removed");
  });
}

test.describe("what is in a value", () => {
  const people = Array.from({ length: 5 }, (_, id) => ({
    id,
    name: `Person ${id}`,
    role: "user",
    active: id % 2 === 0,
  }));
  const deep = Array.from({ length: 30 }).reduce<unknown>((inner) => ({ next: inner }), "the end of a long way down");
  const input = {
    people,
    deep,
    text: "word ".repeat(400),
    link: `https://example.com/${"a".repeat(600)}`,
    count: "50",
  };
  test.use({
    setup: {
      args: [
        ...configured(gatedTool("deploy")),
        ...scripted([{ toolCall: { name: "deploy", input } }], [{ text: ["done"] }]),
      ],
    },
  });

  for (const screen of screens("desktop", "phone")) {
    test.describe(screen, () => {
      test.use(SCREENS[screen]);

      test(`is a table where it is a list of objects, and never overflows, ${screen}`, async ({ console, page }) => {
        await console.open("sse");
        await console.send("deploy");
        const card = console.card("deploy");
        await expect(card.getByRole("table", { name: "people" }).getByRole("row")).toHaveCount(6);
        await expect(card.getByRole("columnheader", { name: "role" })).toHaveCount(1);
        await expectNoOverflow(page);
        await page.getByRole("button", { name: /^Approvals/ }).click();
        await expect(page.getByRole("region", { name: /^Approval: / })).toBeVisible();
        await expectNoOverflow(page);
        await page
          .getByRole("button", { name: /more lines$/ })
          .last()
          .click();
        const review = page.getByRole("dialog", { name: /Deploy a release/ });
        await expect(review.getByRole("row", { name: /count/ })).toContainText("“50”");
        await expect(review).toContainText("the end of a long way down");
        await expectNoOverflow(page);
      });
    });
  }
});
