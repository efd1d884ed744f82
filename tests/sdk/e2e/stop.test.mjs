// The user stops a turn, and continues afterwards.

import assert from "node:assert/strict";
import { config } from "./support/browser.mjs";
import { play } from "./support/play.mjs";
import { isTool, settledOf, summary } from "./support/record.mjs";

/** As a stock client stops: over HTTP it can only stop reading, so the app also tells the server. */
async function stop({ kind, api }, client) {
  await client.chat.stop();
  if (!kind.isSocket) assert.equal((await api(`/api/chat/${client.id}/stop`, { method: "POST" })).status, 200);
}

async function notRunning({ api, chatId }, client) {
  await client.until("the turn has stopped", async () => {
    const { body } = await api("/api/chats");
    return !body.find(({ id }) => id === chatId).isRunning;
  });
}

async function inMidText(play) {
  const client = play.open();
  const said = client.say("endless");
  await client.until("there is text", () => client.text === "It goes on ");
  await stop(play, client);
  await said;
  await client.rests({ sends: 1 });
  await notRunning(play, client);
  assert.equal((await client.history()).at(-1).parts.find(({ type }) => type === "text").text, "It goes on ");

  await client.say("hello");
  await client.rests({ sends: 2 });
  assert.equal(client.text, "Hello to you.");
  assert.equal(client.messages.length, 4);
  assert.ok(client.answer);
}

/** The client's last step may contain only settled calls, which would make it send again. */
async function afterATool(play) {
  const client = play.open();
  const said = client.say("look endlessly");
  await client.until("the call is settled", () => client.states[0] === "get_weather output-available");
  await stop(play, client);
  await said;
  await client.rests({ sends: 1 });
  await notRunning(play, client);
  await client.say("pay Ann");
  await client.decide(client.tool("process_payment"), true);
  await client.rests({ sends: 3 });
  assert.equal(client.tool("process_payment").output.wallet_balance, 970);
}

async function whileABrowserIsAsked(play) {
  const client = play.open({ wait: "stream" });
  const said = client.say("photo");
  await client.until("the browser is asked", () => client.toolCalls.length === 1);
  await stop(play, client);
  await said;
  await client.rests({ sends: 1 });
  await notRunning(play, client);
  assert.equal((await play.ack(client.toolCalls[0], { output: {} })).status, 410);
  assert.deepEqual((await client.holds()).map(summary), [
    { kind: "frontend", state: "settled", cause: "stopped", cut: false },
  ]);
  await client.say("hello");
  await client.rests({ sends: 2 });
  assert.equal(client.text, "Hello to you.");
}

/** The client has nothing open: using the card afterwards runs nothing. */
async function whileAPersonIsAsked(play) {
  const client = play.open();
  await client.say("pay Ann");
  assert.equal((await play.api(`/api/chat/${client.id}/stop`, { method: "POST" })).status, 200);
  const [asked] = client.tools;
  assert.equal((await play.api(`/api/approvals/${asked.approval.id}`, { body: { approved: true } })).status, 410);
  await client.decide(asked, true);
  await client.rests({ sends: 2 });
  const { state, errorText } = client.tool("process_payment");
  assert.deepEqual({ state, errorText }, { state: "output-error", errorText: "stopped by the user" });
  assert.ok(client.answer);
  const kept = (await client.history()).at(-1).parts.find(isTool);
  assert.equal(kept.approval, undefined, "nobody has approved it");
  assert.deepEqual(settledOf(kept), { cause: "stopped", decidedBy: [], edited: false });
  await client.say("pay Ann");
  await client.decide(client.tool("process_payment"), true);
  await client.rests({ sends: 4 });
  assert.equal(client.tool("process_payment").output.wallet_balance, 970);
}

/** Stopped by another tab, while this client reads: its stream ends in order, and it does not send again. */
async function fromAnotherTab({ open, api }) {
  const client = open();
  const said = client.say("look endlessly");
  await client.until("there is text", () => client.text === "It ");
  await api(`/api/chat/${client.id}/stop`, { method: "POST" });
  await said;
  await client.rests({ sends: 1 });
  assert.equal(client.text, "It ");
  assert.deepEqual(client.states, ["get_weather output-available"]);
  await client.say("hello");
  await client.rests({ sends: 2 });
  assert.ok(client.answer);
  // For the client's sake the stop had an empty step of its own, which the history omits.
  const stopped = client.messages[1];
  assert.equal(stopped.parts.at(-1).type, "step-start");
  client.chat.messages = client.messages.with(1, { ...stopped, parts: stopped.parts.slice(0, -1) });
  await client.agrees();
}

/** Without a stop: the next message stops the turn that it interrupts. */
async function newMessageWhileRunning({ open, newTab }) {
  const client = open();
  const said = client.say("look endlessly");
  await client.until("there is text", () => client.text === "It ");
  const other = open({ tab: newTab() });
  other.chat.messages = await other.history();
  await other.say("hello");
  await other.rests({ sends: 1 });
  await said;
  await client.rests({ sends: 1 });
  assert.equal(client.text, "It ");
  assert.equal(other.text, "Hello to you.");
  assert.equal((await other.history()).length, 4);
}

play(
  "stop, then go on",
  {
    "in mid-text": inMidText,
    "after a tool": afterATool,
    "while a browser is asked": whileABrowserIsAsked,
    "while a person is asked": whileAPersonIsAsked,
    "from another tab": fromAnotherTab,
    "a new message while a turn runs": newMessageWhileRunning,
  },
  { config },
);
