// The same chat in two tabs, two chats on one connection, and a chat that another client changes.

import assert from "node:assert/strict";
import { config, firstCall, PHOTO } from "./support/browser.mjs";
import { play } from "./support/play.mjs";

async function load({ open, newTab }, options) {
  const client = open({ tab: newTab(), ...options });
  client.chat.messages = await client.history();
  return client;
}

/** Both click the same button at the same moment: both see the outcome, which happened once. */
async function bothApprove(play) {
  const first = play.open();
  await first.say("pay Ann");
  const second = await load(play);
  await Promise.all([first, second].map((client) => client.decide(client.tool("process_payment"), true)));
  await first.rests({ sends: 2 });
  await second.rests({ sends: 1 });
  for (const client of [first, second]) {
    assert.equal(client.tool("process_payment").output.wallet_balance, 970);
    assert.equal(client.text, "One moment.That is settled.");
    assert.ok(client.answer);
    await client.agrees();
  }
}

/** One of two was answered in each tab: neither client sends before it has both answers itself. */
async function oneAnswerEach(play) {
  const first = play.open();
  await first.say("pay both");
  const second = await load(play);
  await first.decide(first.tools[0], true);
  await play.api(`/api/approvals/${first.tools[0].approval.id}`, { body: { approved: true } });
  await second.decide(second.tools[1], false);
  await play.api(`/api/approvals/${second.tools[1].approval.id}`, { body: { approved: false } });
  await first.decide(first.tools[1], false);
  await first.rests({ sends: 2 });
  await second.decide(second.tools[0], true);
  await second.rests({ sends: 1 });
  for (const client of [first, second]) {
    assert.deepEqual(client.states, ["process_payment output-available", "process_payment output-denied"]);
    assert.equal(client.text, "Two payments.Both answered.");
    assert.ok(client.answer);
    await client.agrees();
  }
}

/** A result that arrives in another request while the response is open: both responses carry the continuation. */
async function resultAsAnotherRequest(play) {
  const first = play.open({ wait: "stream" });
  const said = first.say("photo");
  await firstCall(first);
  const second = play.open({ tab: play.newTab(), messages: first.messages });
  await second.output(second.tool("take_photo"), PHOTO);
  await said;
  await first.rests({ sends: 1 });
  await second.rests({ sends: 1 });
  for (const client of [first, second]) {
    assert.deepEqual(client.tool("take_photo").output, PHOTO);
    assert.equal(client.text, "Nice photo.");
    assert.ok(client.answer);
    await client.agrees();
  }
}

async function regenerateWhileItRuns(play) {
  const first = play.open();
  const said = first.say("look endlessly");
  await first.until("there is text", () => first.text === "It ");
  const second = await load(play);
  const regenerated = second.chat.regenerate();
  await said;
  await first.rests({ sends: 1 });
  await second.until("there is text", () => second.text === "It ");
  await play.api(`/api/chat/${play.chatId}/stop`, { method: "POST" });
  await regenerated;
  await second.rests({ sends: 1 });
  assert.ok(second.answer);
  assert.notEqual(second.answer.id, first.answer.id);
  assert.deepEqual(
    (await second.history()).map(({ id }) => id),
    second.messages.map(({ id }) => id),
  );
}

async function editOverAnApproval(play) {
  const client = play.open();
  await client.say("pay Ann");
  const { approval } = client.tool("process_payment");
  await client.chat.sendMessage({ text: "hello", messageId: client.messages[0].id });
  await client.rests({ sends: 2 });
  assert.equal((await play.api(`/api/approvals/${approval.id}`, { body: { approved: true } })).status, 410);
  assert.equal(client.text, "Hello to you.");
  assert.ok(client.answer);
  await client.agrees();
}

/** The client's stream ends, and the client does not hang. */
async function deletedWhileItRuns(play) {
  const client = play.open();
  const said = client.say("endless");
  await client.until("there is text", () => client.text === "It goes on ");
  assert.equal((await play.api(`/api/chat/${play.chatId}`, { method: "DELETE" })).status, 204);
  await said;
  await client.idle();
  assert.equal(client.sends, 1);
  assert.equal((await play.api(`/api/chat/${play.chatId}/messages`)).status, 404);
}

/** Over WebSocket both share one connection, since both use one transport. */
async function twoChatsAtOnce(play) {
  const one = play.open();
  const two = play.open({ id: `${play.chatId}-2`, tab: play.newTab(), transport: one.transport });
  await Promise.all([one.say("pay Ann"), two.say("weather")]);
  await one.decide(one.tool("process_payment"), true);
  await two.say("hello");
  await one.idle();
  await two.idle();
  assert.equal(one.text, "One moment.That is settled.");
  assert.equal(two.text, "Hello to you.");
  for (const client of [one, two]) {
    assert.equal(client.chat.error, undefined);
    assert.ok(client.answer);
    await client.agrees();
  }
}

/** A client chooses its chat id. */
async function oddChatId(play) {
  const id = `${play.chatId} a/b?c=%2F&日本#é`;
  const client = play.open({ id, wait: "stream" });
  await client.chat.resumeStream();
  const said = client.say("story");
  await firstCall(client);
  const second = await load(play, { id, wait: "stream" });
  assert.equal(second.messages.length, 1);
  const resumed = second.chat.resumeStream();
  await play.ack(await firstCall(second), { output: PHOTO });
  await Promise.all([said, resumed]);
  for (const each of [client, second]) {
    await each.idle();
    assert.equal(each.text, "Once upon a time.");
    assert.ok(each.answer);
    await each.agrees();
  }
}

play(
  "tabs and chats",
  {
    "both tabs approve": bothApprove,
    "one answer each": oneAnswerEach,
    "a result as another request": resultAsAnotherRequest,
    "regenerate while it runs": regenerateWhileItRuns,
    "edit over an approval": editOverAnApproval,
    "deleted while it runs": deletedWhileItRuns,
    "two chats at once": twoChatsAtOnce,
    "an odd chat id": oddChatId,
  },
  { config, atOnce: 6 },
);
