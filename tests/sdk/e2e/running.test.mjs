// A slow server tool: its record while it runs, and the effect of a new message, a stop or a crash.

import assert from "node:assert/strict";
import { after } from "node:test";
import { openEndpoint } from "./support/endpoint.mjs";
import { play, playAlone } from "./support/play.mjs";
import { isTool, settledOf, summary } from "./support/record.mjs";

const endpoint = await openEndpoint();
after(() => endpoint.close());
const { config } = endpoint;

const decision = { kind: "approve", by: ["local"] };
const running = { kind: "approval", state: "running", decision, cut: false };
const settledBy = (cause) => ({ ...running, state: "settled", cause });

const payment = (messages) => messages[1].parts.find(isTool);

/** Approved, with the next message in the same request: the payment is running. */
async function approvedWithText({ open }) {
  const client = open({ isManual: true });
  await client.say("slow pay");
  await client.decide(client.tool("slow_payment"), true);
  const said = client.say("hello");
  const call = await endpoint.called();
  assert.deepEqual(call.input, { amount: 30 });
  return { client, said, call };
}

async function whileItRuns({ open }) {
  const client = open();
  await client.say("slow pay");
  const question = client.tool("slow_payment");
  await client.decide(question, true);
  const call = await endpoint.called();
  assert.deepEqual(summary(await client.hold(question)), running);
  call.answer({ paid: 30 });
  await client.rests({ sends: 2 });
  assert.deepEqual(client.tool("slow_payment").output, { paid: 30 });
  assert.deepEqual(summary(await client.hold(question)), settledBy("ran"));
  assert.equal(client.text, "Paid.");
  await client.agrees();
}

/**
 * The message is stored at once; its turn starts when the payment has its outcome, and the response shows only that
 * turn.
 */
async function thenTheNewTurn({ open, newTab }) {
  const { client, said, call } = await approvedWithText({ open });
  const during = await client.history();
  assert.deepEqual(
    during.map(({ role }) => role),
    ["user", "assistant", "user"],
  );
  assert.equal(payment(during).state, "approval-responded");
  const [hold] = await client.holds();
  assert.deepEqual(summary(hold), running);
  assert.equal(client.messages.length, 3, "nothing of the new turn is there yet");

  // A page loaded now waits for the new turn too.
  const second = open({ tab: newTab(), messages: during });
  const resumed = second.chat.resumeStream();
  const isTaken = ({ status, frame }) => status === 200 || frame?.type === "start";
  await second.until("it listens", () => second.tab.lines.some(isTaken));
  call.answer({ paid: 30 });
  await Promise.all([said, resumed]);
  await client.rests({ sends: 2 });
  await second.rests({ sends: 0, resumes: 1 });
  for (const each of [client, second]) {
    assert.equal(each.text, "Hello to you.");
    assert.equal(each.messages.length, 4);
    assert.ok(each.answer);
  }
  const messages = await client.history();
  assert.deepEqual(payment(messages).output, { paid: 30 });
  assert.equal(settledOf(payment(messages)).cause, "ran");
  assert.equal(messages.length, 4);
  assert.equal(endpoint.unseen, 0, "it was paid once");
}

/** Stopped meanwhile: what became of the payment is unknown, and the turn that waited for it says so and ends. */
async function stoppedMeanwhile({ open, api }) {
  const { client, said, call } = await approvedWithText({ open });
  assert.equal((await api(`/api/chat/${client.id}/stop`, { method: "POST" })).status, 200);
  await said;
  await client.rests({ sends: 2 });
  assert.equal(await call.isGivenUp, true);
  assert.deepEqual((await client.holds()).map(summary), [settledBy("interrupted")]);
  const messages = await client.history();
  assert.equal(payment(messages).state, "output-error");
  assert.equal(payment(messages).approval.approved, true);
  await client.say("hello");
  await client.rests({ sends: 3 });
  assert.equal(client.text, "Hello to you.");
  assert.ok(client.answer);
  assert.equal(endpoint.unseen, 0);
}

/**
 * Another message, from a page that knows of the approval: the payment continues, no message is lost, and the newest
 * one is answered.
 */
async function anotherMessageMeanwhile({ open, newTab }) {
  const { client, said, call } = await approvedWithText({ open });
  const other = open({ tab: newTab() });
  other.chat.messages = await other.history();
  const saidThere = other.say("weather");
  await other.until("it is stored", async () => (await other.history()).at(-1).parts[0].text === "weather");
  call.answer({ paid: 30 });
  await Promise.all([said, saidThere]);
  await other.rests({ sends: 1 });
  assert.equal(other.text, "It is fine.");
  assert.ok(other.answer);
  await client.rests({ sends: 2 });
  assert.deepEqual((await client.holds()).map(summary), [settledBy("ran")]);
  const texts = (await client.history()).filter(({ role }) => role === "user").map(({ parts }) => parts[0].text);
  assert.deepEqual(texts, ["slow pay", "hello", "weather"]);
  assert.equal(endpoint.unseen, 0);
}

/**
 * A page that still shows the approval request sends another message: running calls are stopped, as by any new message.
 */
async function aMessageThatKnowsNothing({ open, newTab }) {
  const client = open();
  await client.say("slow pay");
  const other = open({ tab: newTab(), messages: client.messages });
  await client.decide(client.tool("slow_payment"), true);
  const call = await endpoint.called();
  await other.say("weather");
  await other.rests({ sends: 1 });
  assert.equal(other.text, "It is fine.");
  assert.equal(await call.isGivenUp, true);
  await client.rests({ sends: 2 });
  assert.deepEqual((await client.holds()).map(summary), [settledBy("interrupted")]);
  assert.equal((await client.history()).length, 4);
  assert.equal(endpoint.unseen, 0);
}

const flows = {
  "the record while it runs": whileItRuns,
  "approved, with a new message": thenTheNewTurn,
  "approved, with a new message, and stopped": stoppedMeanwhile,
  "approved, with a new message, and another one": anotherMessageMeanwhile,
  "approved, and a new message from a page that still asks": aMessageThatKnowsNothing,
};
// One endpoint: a flow has to know that a call is its own.
play("a tool that takes its time", flows, { config, atOnce: 1 });

/** It is unknown whether it was paid, and the record says so. */
async function killed({ open, server }) {
  const before = open();
  await before.say("slow pay");
  const question = before.tool("slow_payment");
  await before.decide(question, true);
  await endpoint.called();
  await server.restart({ isKilled: true });
  await before.until("it is noticed", () => before.chat.status === "error");

  const client = open({ messages: await before.history() });
  await client.chat.resumeStream();
  await client.idle();
  assert.equal(client.sends, 0);
  const hold = await client.hold(question);
  assert.deepEqual(summary(hold), settledBy("interrupted"));
  const part = payment(await client.history());
  assert.equal(part.state, "output-error");
  assert.deepEqual(part.approval, { id: question.approval.id, approved: true });
  assert.deepEqual([settledOf(part).cause, settledOf(part).decidedBy], ["interrupted", ["local"]]);
  assert.equal(endpoint.unseen, 0, "it is not tried again");
}

playAlone("a tool that takes its time, and a crash", { killed }, { config, isKept: true, atOnce: 1 });
