// The server process ends in the middle, and another one replaces it on the same data.

import assert from "node:assert/strict";
import { config, firstCall, PHOTO } from "./support/browser.mjs";
import { playAlone } from "./support/play.mjs";
import { isTool } from "./support/record.mjs";

async function load({ open }, options) {
  const client = open(options);
  client.chat.messages = await client.history();
  return client;
}

async function whileAPersonIsAsked(play) {
  const before = play.open();
  await before.say("pay Ann");
  await before.rests({ sends: 1 });
  await before.close();
  await play.server.restart({ isKilled: true });

  const after = await load(play);
  await after.chat.resumeStream();
  await after.rests({ sends: 0, resumes: 1 });
  await after.decide(after.tool("process_payment"), true);
  await after.rests({ sends: 1, resumes: 1 });
  assert.equal(after.tool("process_payment").output.wallet_balance, 970);
  assert.equal(after.text, "One moment.That is settled.");
  assert.ok(after.answer);
  await after.agrees();
}

/** The page stays open: its next request goes to the new process. */
async function withThePageOpen(play) {
  const client = play.open();
  await client.say("pay Ann");
  await client.rests({ sends: 1 });
  await play.server.restart();
  await client.decide(client.tool("process_payment"), false);
  await client.rests({ sends: 2 });
  assert.deepEqual(client.states, ["process_payment output-denied"]);
  assert.equal(client.text, "One moment.That is settled.");
  assert.ok(client.answer);
  await client.agrees();
}

async function whileABrowserIsAsked(play) {
  const before = play.open({ wait: "stream" });
  const said = before.say("photo and weather");
  await before.until("one call is settled", () => before.states[1] === "get_weather output-available");
  await play.server.restart({ isKilled: true });
  await said;
  assert.ok(before.chat.error, "the connection broke");

  const after = await load(play, { wait: "stream" });
  const resumed = after.chat.resumeStream();
  const call = await firstCall(after);
  assert.equal(after.toolCalls.length, 1, "the settled call is not announced again");
  assert.equal((await play.ack(call, { output: PHOTO })).status, 200);
  await resumed;
  await after.rests({ sends: 0, resumes: 1 });
  assert.deepEqual(after.states, ["take_photo output-available", "get_weather output-available"]);
  assert.equal(after.text, "A fine photo.");
  assert.ok(after.answer);
  await after.agrees();
}

async function whileItWaitsForAResubmit(play) {
  const client = play.open();
  await client.say("photo");
  await client.rests({ sends: 1 });
  await play.server.restart({ isKilled: true });
  await client.output(client.tool("take_photo"), PHOTO);
  await client.rests({ sends: 2 });
  assert.equal(client.text, "Nice photo.");
  assert.ok(client.answer);
  await client.agrees();
}

/** The model's text can't be resumed in the middle; the chat continues, and nothing hangs. */
async function inMidText(play) {
  const before = play.open();
  const said = before.say("slow text");
  await before.until("there is text", () => before.text.startsWith("Once "));
  await play.server.restart({ isKilled: true });
  await said;

  const after = await load(play);
  await after.chat.resumeStream();
  await after.idle();
  assert.equal(after.sends, 0);
  after.chat.clearError();
  await after.say("weather");
  await after.rests({ sends: 1, resumes: 1 });
  assert.equal(after.text, "It is fine.");
  assert.ok(after.answer);
  const kept = await after.history();
  assert.ok(kept.flatMap(({ parts }) => parts).every((part) => !isTool(part) || part.state === "output-available"));
}

/** On a graceful shutdown the server lets the turn finish first: the client notices nothing. */
async function askedToEndInMidText(play) {
  const client = play.open();
  const said = client.say("slow text");
  await client.until("there is text", () => client.text.startsWith("Once "));
  await play.server.restart();
  await said;
  await client.rests({ sends: 1 });
  assert.equal(client.text, "Once upon a time.");
  assert.ok(client.answer);
  await client.agrees();
  await client.say("hello");
  await client.rests({ sends: 2 });
}

playAlone(
  "a restart of the server",
  {
    "while a person is asked": whileAPersonIsAsked,
    "while a person is asked, with the page open": withThePageOpen,
    "while a browser is asked": whileABrowserIsAsked,
    "while it waits for a resubmit": whileItWaitsForAResubmit,
    "in mid-text": inMidText,
    "asked to end in mid-text": askedToEndInMidText,
  },
  { config, isKept: true, atOnce: 6 },
);
