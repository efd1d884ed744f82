// A page is loaded in the middle of a turn: first the history, then the running message from its start.

import assert from "node:assert/strict";
import { config, firstCall, PHOTO } from "./support/browser.mjs";
import { play } from "./support/play.mjs";

/** What `useChat` with `resume: true` does on a page with the chat's history. */
async function load({ open, newTab }, options = {}) {
  const client = open({ tab: newTab(), ...options });
  client.chat.messages = await client.history();
  return client;
}

/** The model writes no more until the turn is stopped: this fixes what is replayed, and how both pages end. */
async function inMidText(play) {
  const first = play.open();
  const said = first.say("endless");
  await first.until("there is text", () => first.text === "It goes on ");
  const second = await load(play);
  assert.equal(second.messages.length, 1, "the message that is being written is left out");
  const resumed = second.chat.resumeStream();
  await second.until("there is text", () => second.text === "It goes on ");
  await play.api(`/api/chat/${play.chatId}/stop`, { method: "POST" });
  await Promise.all([said, resumed]);
  await first.rests({ sends: 1 });
  await second.rests({ sends: 0, resumes: 1 });
  assert.deepEqual(second.answer, first.answer);
  assert.equal(second.text, "It goes on ");
}

/** The first page is gone; the turn is not. */
async function reloadInMidTurn(play) {
  const before = play.open({ wait: "stream" });
  const said = before.say("story");
  await firstCall(before);
  await before.close();
  await said;
  const after = play.open({ wait: "stream" });
  after.chat.messages = await after.history();
  assert.equal(after.messages.length, 1);
  const resumed = after.chat.resumeStream();
  await play.ack(await firstCall(after), { output: PHOTO });
  await resumed;
  await after.rests({ sends: 0, resumes: 1 });
  assert.equal(after.text, "Once upon a time.");
  assert.ok(after.answer);
  await after.agrees();
}

/** A settled call is not sent again: nothing makes the page run it (T8). */
async function afterATool(play) {
  const first = play.open({ wait: "stream" });
  const said = first.say("weather, then photo");
  await first.until("the second call is made", () => first.toolCalls.length === 2);
  const second = await load(play, { wait: "stream" });
  const resumed = second.chat.resumeStream();
  await play.ack(await firstCall(second), { output: PHOTO });
  await Promise.all([said, resumed]);
  await second.rests({ sends: 0, resumes: 1 });
  assert.deepEqual(second.toolCalls, [second.tool("take_photo").toolCallId]);
  assert.deepEqual(second.states, ["get_weather output-available", "take_photo output-available"]);
  assert.deepEqual(second.tool("get_weather").input, { location: "Kyoto" });
  assert.equal(second.text, "It is fine.");
  assert.ok(second.answer);
  await second.agrees();
}

/** One call is settled, the other waits for a browser: only the latter is sent. */
async function inMidTool(play) {
  const first = play.open({ wait: "stream" });
  const said = first.say("photo and weather");
  await first.until("one call is settled", () => first.states[1] === "get_weather output-available");
  const second = await load(play, { wait: "stream" });
  const resumed = second.chat.resumeStream();
  const call = await firstCall(second);
  assert.deepEqual(second.toolCalls, [second.tool("take_photo").toolCallId]);
  await play.ack(call, { output: PHOTO });
  await Promise.all([said, resumed]);
  await first.rests({ sends: 1 });
  await second.rests({ sends: 0, resumes: 1 });
  for (const client of [first, second]) {
    assert.deepEqual(client.states, ["take_photo output-available", "get_weather output-available"]);
    assert.equal(client.text, "A fine photo.");
    assert.ok(client.answer);
    await client.agrees();
  }
}

/** A page that sends results in its next request has nothing to resume. */
async function whileItWaitsForAResubmit(play) {
  const first = play.open();
  await first.say("photo");
  const second = await load(play);
  assert.deepEqual(second.states, ["take_photo input-available"]);
  await second.chat.resumeStream();
  await second.rests({ sends: 0, resumes: 1 });
  assert.deepEqual(second.toolCalls, []);
  await second.output(second.tool("take_photo"), PHOTO);
  await second.rests({ sends: 1, resumes: 1 });
  assert.equal(second.text, "Nice photo.");
  assert.ok(second.answer);
  await second.agrees();
}

/**
 * Another page keeps its response open for the result; this one would send it in its next request. It sees the call in
 * either case.
 */
async function besideAPageThatWaits(play) {
  const first = play.open({ wait: "stream" });
  const said = first.say("photo");
  const call = await firstCall(first);
  const second = await load(play);
  const resumed = second.chat.resumeStream();
  await Promise.race([resumed, firstCall(second)]);
  assert.deepEqual(second.states, ["take_photo input-available"]);
  await play.ack(call, { output: PHOTO });
  await Promise.all([said, resumed]);
  await first.rests({ sends: 1 });
  await second.idle();
  assert.equal(first.text, "Nice photo.");
}

/** 204, or `no-active`: an approval request is open, but no response. */
async function whileAPersonIsAsked(play) {
  const first = play.open();
  await first.say("pay Ann");
  const second = await load(play);
  await second.chat.resumeStream();
  await second.rests({ sends: 0, resumes: 1 });
  const answer = second.tab.lines.at(-1);
  assert.equal(play.kind.isSocket ? answer.frame.type : answer.status, play.kind.isSocket ? "no-active" : 204);
  await second.decide(second.tool("process_payment"), true);
  await second.rests({ sends: 1, resumes: 1 });
  assert.equal(second.tool("process_payment").output.wallet_balance, 970);
  assert.ok(second.answer);
  await second.agrees();
}

/** The message started in an earlier response: the replay has all of it, without another approval request. */
async function afterAnApproval(play) {
  const first = play.open({ wait: "stream" });
  await first.say("pay, then photo");
  await first.decide(first.tool("process_payment"), true);
  await first.until("the second call is made", () => first.toolCalls.length === 2);
  const second = await load(play, { wait: "stream" });
  assert.equal(second.messages.length, 1);
  const resumed = second.chat.resumeStream();
  await play.ack(await firstCall(second), { output: PHOTO });
  await resumed;
  await second.rests({ sends: 0, resumes: 1 });
  await first.rests({ sends: 2 });
  assert.deepEqual(second.toolCalls, [second.tool("take_photo").toolCallId]);
  assert.equal(second.tool("process_payment").output.wallet_balance, 970);
  assert.equal(second.text, "That is settled.");
  assert.ok(second.answer);
  assert.deepEqual(await second.history(), await first.history());
}

async function fromTwoTabsAtOnce(play) {
  const first = play.open({ wait: "stream" });
  const said = first.say("story");
  await firstCall(first);
  const tabs = await Promise.all([1, 2].map(() => load(play, { wait: "stream" })));
  const resumed = tabs.map(({ chat }) => chat.resumeStream());
  const [call] = await Promise.all(tabs.map(firstCall));
  await play.ack(call, { output: PHOTO });
  await Promise.all([said, ...resumed]);
  for (const client of tabs) {
    await client.rests({ sends: 0, resumes: 1 });
    assert.equal(client.text, "Once upon a time.");
    assert.ok(client.answer);
    await client.agrees();
  }
}

async function whenNothingRuns(play) {
  const client = await play.open();
  await client.chat.resumeStream();
  await client.rests({ sends: 0, resumes: 1 });
  await client.say("weather");
  await client.chat.resumeStream();
  await client.rests({ sends: 1, resumes: 2 });
  assert.equal(client.text, "It is fine.");
  assert.ok(client.answer);
  await client.agrees();
}

play(
  "resume",
  {
    "in mid-text": inMidText,
    "reload in mid-turn": reloadInMidTurn,
    "after a tool": afterATool,
    "in mid-tool, while a browser is asked": inMidTool,
    "while it waits for a resubmit": whileItWaitsForAResubmit,
    "beside a page that waits": besideAPageThatWaits,
    "while a person is asked": whileAPersonIsAsked,
    "after an approval": afterAnApproval,
    "from two tabs at once": fromTwoTabsAtOnce,
    "when nothing runs": whenNothingRuns,
  },
  { config, atOnce: 9 },
);
