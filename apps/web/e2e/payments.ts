import type { BrowserContext, Page } from "@playwright/test";
import { InboxPage } from "./inboxPage";
import { type Ledger, startLedger } from "./ledger";
import { api, type Person, signIn, withPeople } from "./people";
import { scratchFile } from "./scratch";
import { test as base, expect } from "./test";

export { expect };

interface Options {
  /** How many have to approve. */
  quorum: number;
  /** Lines of the memo of each payment. */
  memoLines: number;
  /** After how many seconds the request of payment `HURRIED` expires; the others stay for a day. */
  hurriedSec: number;
}

interface Fixtures extends Options {
  ledger: Ledger;
  /** Ann asks for a payment of 100 USD times its number to "Vendor N", one in each chat; in this order. */
  ask: (...numbers: number[]) => Promise<void>;
  /** The id of the open request of a payment. */
  idOf: (number: number) => Promise<string>;
  /** Somebody decides the open request of a payment without a browser, and it is accepted. */
  decides: (person: Person, number: number, decision: object) => Promise<void>;
  /** Somebody's own browser. */
  browserOf: (person: Person) => Promise<Page>;
  /** Somebody's own browser, in the inbox. */
  inboxOf: (person: Person, path?: string) => Promise<InboxPage>;
  /** Ann asks for these payments; bob's browser is in the inbox, at the first of them. */
  bobReads: (...numbers: [number, ...number[]]) => Promise<InboxPage>;
}

/** The payment whose request may expire while the others stay. */
export const HURRIED = 8;

/** How the payment with a number is called. */
export const pay = (number: number) => `Pay ${number * 100} USD to Vendor ${number}`;

/** A server on which ann asks for payments, bob and carol decide, and a ledger beside it that pays. */
export const test = base.extend<Fixtures>({
  quorum: [1, { option: true }],
  memoLines: [0, { option: true }],
  hurriedSec: [86_400, { option: true }],
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names from it
  ledger: async ({}, use) => {
    const ledger = await startLedger();
    await use(ledger);
    await ledger.stop();
  },
  setup: async ({ ledger, quorum, memoLines, hurriedSec }, use) => {
    const memo = Array.from({ length: memoLines }, (_, line) => `line ${line + 1}`);
    const input = (number: number) => ({
      vendor: `Vendor ${number}`,
      amount: number * 100,
      ...(memoLines > 0 && { memo }),
    });
    const turns = Array.from({ length: 9 }, (_, at) => ({
      when: `pay ${at + 1}\\b`,
      steps: [
        [{ toolCall: { name: at + 1 === HURRIED ? "pay_soon" : "pay", input: input(at + 1) } }],
        [{ text: ["Done."] }],
      ],
    }));
    const script = { modelVersion: "scripted", turns: [...turns, { when: ".*", steps: [[{ text: ["Well."] }]] }] };
    const tool = (name: string, timeoutSec: number) => `
[tools.${name}]
execution = "server"
title = "Pay a vendor"
headline = "Pay {amount} USD to {vendor}"
description = "Sends money"
url = "${ledger.url}"
allow_private = true
approval = "always"
approval_timeout_sec = ${timeoutSec}
input_schema = { type = "object", required = ["vendor", "amount"], properties = { vendor = { type = "string" }, amount = { type = "number" }, memo = { type = "array", items = { type = "string" } } } }
[tools.${name}.approvers]
by = ["group:finance"]
exclude_self = true
quorum = ${quorum}
`;
    const model = `script:${scratchFile("payments.json", JSON.stringify(script))}`;
    // The browser reports a decision that came second.
    const settings = tool("pay", 86_400) + tool("pay_soon", hurriedSec);
    await use({ args: [...withPeople(settings), "--model", model], isKept: true, allowed: [/status of (409|410)/] });
  },
  ask: async ({ server }, use) => {
    await use(async (...numbers) => {
      for (const number of numbers) await api(server.api, "ann").say(`chat-${number}`, `pay ${number}`);
    });
  },
  idOf: async ({ server }, use) => {
    await use(async (number) => {
      const all = await api(server.api, "carol").approvals();
      const found = all.find(({ chatId }) => chatId === `chat-${number}`);
      if (found === undefined) throw new Error(`${pay(number)} does not wait.`);
      return found.approvalId;
    });
  },
  decides: async ({ server, idOf }, use) => {
    await use(async (person, number, decision) => {
      expect(await api(server.api, person).decide(await idOf(number), decision)).toBe(200);
    });
  },
  browserOf: async ({ browser, contextOptions }, use) => {
    const open: BrowserContext[] = [];
    await use(async (person) => {
      const context = await browser.newContext(contextOptions);
      open.push(context);
      await signIn(context, person);
      return await context.newPage();
    });
    for (const context of open) await context.close();
  },
  inboxOf: async ({ browserOf, server }, use) => {
    await use(async (person, path) => await new InboxPage(await browserOf(person), server.url).open(path));
  },
  bobReads: async ({ ask, inboxOf }, use) => {
    await use(async (...numbers) => {
      await ask(...numbers);
      const bob = await inboxOf("bob");
      await bob.expectReady(pay(numbers[0]));
      return bob;
    });
  },
});
