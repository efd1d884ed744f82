import type { Console } from "./console";
import { expect } from "./test";

/** A demo flow: the user's actions and the expected result. It ends with the turn. */
export interface Flow {
  name: string;
  /** Run in all modes even in the short run, not only in one. */
  everywhere?: boolean;
  geolocation?: "granted" | "refused";
  play: (console: Console) => Promise<void>;
}

const HANAKO = "send 50 dollars to Hanako";
const TWO = "Aliceに30ドル、Bobに40ドル送金してください";

export const FLOWS: readonly Flow[] = [
  {
    name: "payment approved",
    everywhere: true,
    play: async (console) => {
      await console.send(HANAKO);
      const card = console.card("process_payment");
      await console.expectState(card, "approval-requested");
      await expect(card.getByRole("row", { name: /recipient/ })).toContainText("Hanako");
      await expect(card.getByRole("timer")).toContainText(/4:5\d left|5:00 left/);
      await console.approve(card);
      await console.expectState(card, "output-available");
      await expect(card.getByRole("row", { name: /wallet_balance/ })).toContainText("950");
      await expect(console.text).toContainText("Hanako");
    },
  },
  {
    name: "payment denied with a reason",
    play: async (console) => {
      await console.send(HANAKO);
      const card = console.card("process_payment");
      await console.expectState(card, "approval-requested");
      await console.deny(card, "too much");
      await expect(card).toHaveAttribute("data-state", /^output-(error|denied)$/);
      await expect(card).toContainText("too much");
      await expect(console.text).not.toBeEmpty();
    },
  },
  {
    name: "weather",
    play: async (console) => {
      await console.send("what's the weather in Tokyo");
      const card = console.card("get_weather");
      await console.expectState(card, "output-available");
      await expect(card.getByRole("row", { name: /temperature/ })).toBeVisible();
      await expect(card.getByRole("button", { name: /Approve/ })).toHaveCount(0);
      await expect(console.text).toContainText("Tokyo");
    },
  },
  {
    name: "location granted",
    geolocation: "granted",
    play: async (console) => {
      await console.send("where am I");
      const card = console.card("get_location");
      await console.expectState(card, "approval-requested");
      await console.approve(card);
      await console.expectState(card, "output-available");
      await expect(card.getByRole("row", { name: /latitude/ })).toContainText("35.68");
      await expect(console.text).not.toBeEmpty();
    },
  },
  {
    name: "location refused by the browser",
    geolocation: "refused",
    play: async (console) => {
      await console.send("where am I");
      const card = console.card("get_location");
      await console.approve(card);
      await console.expectState(card, "output-error");
      await expect(console.text).not.toBeEmpty();
    },
  },
  {
    name: "location denied",
    geolocation: "granted",
    play: async (console) => {
      await console.send("where am I");
      const card = console.card("get_location");
      await console.deny(card);
      await expect(card).toHaveAttribute("data-state", /^output-(error|denied)$/);
      await expect(console.text).not.toBeEmpty();
    },
  },
  {
    name: "music",
    play: async (console) => {
      await console.send("play track 1");
      await console.expectState(console.card("change_bgm"), "output-available");
      await expect(console.page.getByRole("status").filter({ hasText: "Track 1" })).toBeVisible();
      await expect(console.text).not.toBeEmpty();
    },
  },
  {
    name: "page opened",
    everywhere: true,
    play: async (console) => {
      await console.send("open https://example.com");
      const card = console.card("open-url");
      await console.expectState(card, "output-available");
      await expect(card).toContainText("viewKey");
      const frame = console.page.locator('iframe[src^="https://example.com"]');
      await expect(frame).toBeVisible();
      await expect(frame.contentFrame().getByRole("heading")).toHaveText("Example Domain");
      await expect(console.text).not.toBeEmpty();
    },
  },
  {
    name: "two approvals in a row",
    play: async (console) => {
      await console.send("find inactive users and deactivate them");
      const search = console.card("search_database");
      const update = console.card("update_database");
      await console.expectState(search, "approval-requested");
      await expect(update).toHaveCount(0);
      await console.approve(search);
      await console.expectState(update, "approval-requested");
      await console.approve(update);
      await console.expectState(update, "output-available");
      await console.expectState(search, "output-available");
      await expect(console.text).not.toBeEmpty();
    },
  },
  {
    name: "two payments, one denied",
    play: async (console) => {
      await console.send(TWO);
      const cards = console.card("process_payment");
      await console.expectState(cards.first(), "approval-requested");
      await console.approve(cards.first());
      await expect(cards).toHaveCount(2);
      await console.expectState(cards.last(), "approval-requested");
      await console.deny(cards.last());
      await console.expectState(cards.first(), "output-available");
      await expect(cards.last()).toHaveAttribute("data-state", /^output-(error|denied)$/);
      await expect(console.text).not.toBeEmpty();
    },
  },
];
