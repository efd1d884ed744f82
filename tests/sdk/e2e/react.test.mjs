// The React hook itself: `useChat` in a page, with a user who clicks buttons.

import assert from "node:assert/strict";
import { useChat as useChat6 } from "react6";
import { useChat as useChat7 } from "react7";
import { config, HERE, PHOTO } from "./support/browser.mjs";
import { KINDS } from "./support/client.mjs";
import { openPage } from "./support/page.mjs";
import { play } from "./support/play.mjs";
import { isTool, settledOf } from "./support/record.mjs";

const kinds = KINDS.map((kind) => ({
  ...kind,
  name: `useChat of ${kind.name}`,
  useChat: kind.version === 6 ? useChat6 : useChat7,
}));

const onPage = (flow, options) => async (play) => {
  const page = await openPage(play.kind, { server: play.server, tab: play.tab, id: play.chatId, ...options });
  try {
    await flow(page, play);
  } finally {
    await page.close();
  }
};

async function approve(page) {
  await page.say("pay Ann");
  await page.until("somebody is asked", () => page.answers[0]?.includes("approval-requested"));
  await page.press("approve");
  await page.until("it is settled", () => page.answers[0].endsWith("That is settled."));
  await page.rests();
  assert.match(page.answers[0], /process_payment output-available .*"wallet_balance":970/);
  assert.equal(page.answers.length, 1);
  assert.deepEqual(page.counts, { sends: 2, resumes: 0 });
}

async function deny(page) {
  await page.say("pay Ann");
  await page.until("somebody is asked", () => page.answers[0]?.includes("approval-requested"));
  await page.press("deny");
  await page.until("it is settled", () => page.answers[0].endsWith("That is settled."));
  await page.rests();
  assert.match(page.answers[0], /process_payment output-denied/);
  assert.equal(page.answers.length, 1);
  assert.deepEqual(page.counts, { sends: 2, resumes: 0 });
}

async function twoInARow(page) {
  await page.say("pay twice");
  for (const sends of [1, 2]) {
    await page.until("somebody is asked", () => page.answers[0]?.includes("approval-requested"));
    await page.rests();
    assert.equal(page.counts.sends, sends);
    await page.press("approve");
  }
  await page.until("it is settled", () => page.answers[0].endsWith("Two are done."));
  await page.rests();
  assert.equal(page.answers.length, 1);
  assert.deepEqual(page.counts, { sends: 3, resumes: 0 });
}

async function frontend(page) {
  await page.say("photo");
  await page.until("the photo is seen", () => page.answers[0]?.endsWith("Nice photo."));
  await page.rests();
  assert.ok(page.answers[0].includes(`take_photo output-available ${JSON.stringify(PHOTO)}`));
  assert.equal(page.answers.length, 1);
  assert.deepEqual(page.counts, { sends: 2, resumes: 0 });
}

/** The page runs `onToolCall` once, after the approval. */
async function frontendApproved(page) {
  await page.say("where");
  await page.until("somebody is asked", () => page.answers[0]?.includes("get_location approval-requested"));
  await page.rests();
  assert.deepEqual(page.called, []);
  await page.press("approve");
  await page.until("the place is known", () => page.answers[0].endsWith("You are there."));
  await page.rests();
  assert.ok(page.answers[0].includes(`get_location output-available ${JSON.stringify(HERE)}`));
  assert.deepEqual(page.called, ["get_location"]);
  assert.equal(page.answers.length, 1);
  assert.deepEqual(page.counts, { sends: 3, resumes: 0 });
}

async function frontendDenied(page) {
  await page.say("where");
  await page.until("somebody is asked", () => page.answers[0]?.includes("get_location approval-requested"));
  await page.press("deny");
  await page.until("it is settled", () => page.answers[0].endsWith("You are there."));
  await page.rests();
  assert.match(page.answers[0], /get_location output-denied/);
  assert.deepEqual(page.called, []);
  assert.equal(page.answers.length, 1);
  assert.deepEqual(page.counts, { sends: 2, resumes: 0 });
}

/** The inbox denied before the button was clicked: the page shows the decision in force. */
async function contradicted(page, { api, chatId }) {
  await page.say("pay Ann");
  await page.until("somebody is asked", () => page.answers[0]?.includes("approval-requested"));
  await page.rests();
  const [hold] = (await api(`/api/chat/${chatId}/holds`)).body;
  assert.equal((await api(`/api/approvals/${hold.approvalId}`, { body: { approved: false } })).status, 200);
  await page.press("approve");
  await page.until("it is settled", () => page.answers[0].endsWith("That is settled."));
  await page.rests();
  assert.match(page.answers[0], /process_payment output-error/);
  assert.equal(page.answers.length, 1);
  assert.deepEqual(page.counts, { sends: 2, resumes: 0 });
}

/**
 * In an app without auto-send the answer is sent with the next message: the payment is made once, and the new turn
 * answers.
 */
async function approvedWithText(page, { api, chatId }) {
  await page.say("pay Ann");
  await page.until("somebody is asked", () => page.answers[0]?.includes("approval-requested"));
  await page.press("approve");
  await page.rests();
  assert.equal(page.counts.sends, 1);
  await page.say("hello");
  await page.until("the new turn answers", () => page.answers[1]?.endsWith("Hello to you."));
  await page.rests();
  assert.equal(page.answers.length, 2);
  const { body } = await api(`/api/chat/${chatId}/messages`);
  const [payment] = body[1].parts.filter(isTool);
  assert.deepEqual([payment.output.wallet_balance, settledOf(payment).cause], [970, "ran"]);
  assert.deepEqual(page.counts, { sends: 2, resumes: 0 });
}

/** A second page, loaded in the middle: `resume: true` resumes the message that is being written. */
async function resume(page, { server, kind, chatId, newTab, api, ack }) {
  await page.say("weather, then photo");
  await page.until("the browser is asked", () => page.answers[0]?.includes("take_photo input-available"));
  const { body: messages } = await page.during(() => api(`/api/chat/${chatId}/messages`));
  const calls = [];
  const runs = ({ toolCallId }) => {
    calls.push(toolCallId);
  };
  const options = { server, tab: newTab(), id: chatId, messages, resume: true, wait: "stream", runs };
  const second = await openPage(kind, options);
  try {
    await second.until("this page is asked as well", () => calls.length > 0);
    assert.ok(
      second.called.every((toolName) => toolName === "take_photo"),
      "the settled call is not announced",
    );
    await second.during(() => ack(calls[0], { output: PHOTO }));
    for (const each of [second, page]) {
      await each.until("there is all of it", () => each.answers[0]?.endsWith("It is fine."));
      await each.rests();
      assert.equal(each.answers.length, 1);
    }
    assert.equal(second.counts.sends, 0);
    assert.ok(second.counts.resumes >= 1);
    assert.deepEqual(page.counts, { sends: 1, resumes: 0 });
  } finally {
    await second.close();
  }
}

const runs = ({ toolName }) => ({ take_photo: PHOTO, get_location: HERE })[toolName];

play(
  "a page with useChat",
  {
    approve: onPage(approve),
    deny: onPage(deny),
    "two in a row": onPage(twoInARow),
    "a browser's tool": onPage(frontend, { runs }),
    "a browser's tool, approved": onPage(frontendApproved, { runs }),
    "a browser's tool, denied": onPage(frontendDenied, { runs }),
    "denied in the inbox, approved here": onPage(contradicted),
    "approved, with a new message": onPage(approvedWithText, { isManual: true }),
    resume: onPage(resume, { wait: "stream" }),
  },
  // `act` supports one page at a time.
  { config, kinds, atOnce: 1 },
);
