// The network fails in the middle of a response, and the same page resumes it.

import assert from "node:assert/strict";
import { config, firstCall, PHOTO } from "./support/browser.mjs";
import { play } from "./support/play.mjs";

async function lose(client, said) {
  client.tab.disconnect();
  await said;
  assert.equal(client.chat.status, "error");
  assert.equal(client.sends, 1);
}

async function afterText({ open, ack }) {
  const client = open({ wait: "stream" });
  const said = client.say("story");
  const photo = await firstCall(client);
  assert.equal(client.text, "Once ");
  await lose(client, said);
  const resumed = client.chat.resumeStream();
  await client.until("it is asked again", () => client.toolCalls.length === 2);
  await ack(photo, { output: PHOTO });
  await resumed;
  await client.rests({ sends: 1, resumes: 1 });
  assert.equal(client.text, "Once upon a time.", "nothing is doubled");
  assert.ok(client.answer);
  await client.agrees();
}

/** The call that still has to run is sent again, the settled one is not; the result is accepted once. */
async function whileABrowserIsAsked({ open, ack }) {
  const client = open({ wait: "stream" });
  const said = client.say("photo and weather");
  await client.until("one call is settled", () => client.states[1] === "get_weather output-available");
  const photo = await firstCall(client);
  await lose(client, said);
  const resumed = client.chat.resumeStream();
  await client.until("it is asked again", () => client.toolCalls.length === 3);
  assert.equal(client.toolCalls[2], photo);
  assert.equal((await ack(photo, { output: PHOTO })).status, 200);
  await resumed;
  await client.rests({ sends: 1, resumes: 1 });
  assert.deepEqual(client.states, ["take_photo output-available", "get_weather output-available"]);
  assert.equal(client.text, "A fine photo.");
  assert.ok(client.answer);
  await client.agrees();
}

/** The answer arrived, but the continuation was lost: the page resumes, or sends the same answer again. */
const afterAnAnswer = (goOn) => async (play) => {
  const client = play.open({ wait: "stream" });
  await client.say("pay, then photo");
  await client.decide(client.tool("process_payment"), true);
  await client.until("the second call is made", () => client.toolCalls.length === 2);
  client.tab.disconnect();
  await client.until("it is noticed", () => client.chat.status === "error");
  const { toolCallId } = client.tool("take_photo");
  const gone = goOn(client);
  // What the client already has is not sent again, and may be all there is so far: then the status stays "submitted".
  await client.until("it is listened to again", () => ["submitted", "streaming"].includes(client.chat.status));
  assert.equal((await play.ack(toolCallId, { output: PHOTO })).status, 200);
  await gone;
  await client.idle();
  assert.equal(client.chat.error, undefined);
  assert.deepEqual(client.states, ["process_payment output-available", "take_photo output-available"]);
  assert.equal(client.tool("process_payment").output.wallet_balance, 970);
  assert.equal(client.text, "That is settled.");
  assert.ok(client.answer);
  assert.deepEqual([client.sends, client.resumes], client.resumes ? [2, 1] : [3, 0]);
};

/** It ended before the page reconnected: the history has it. */
async function overInTheMeantime({ open, api, ack }) {
  const client = open({ wait: "stream" });
  const said = client.say("story");
  const photo = await firstCall(client);
  await lose(client, said);
  await ack(photo, { output: PHOTO });
  await client.until("the turn is over", async () => (await api(`/api/chat/${client.id}/messages`)).body.length === 2);
  await client.chat.resumeStream();
  await client.idle();
  assert.equal(client.resumes, 1);
  client.chat.messages = await client.history();
  await client.say("hello");
  await client.rests({ sends: 2, resumes: 1 });
  assert.equal(client.messages[1].parts.filter(({ type }) => type === "text").length, 2);
  assert.ok(client.answer);
  await client.agrees();
}

play(
  "a lost connection",
  {
    "after text": afterText,
    "while a browser is asked": whileABrowserIsAsked,
    "after an answer, resumed": afterAnAnswer((client) => client.chat.resumeStream()),
    "after an answer, sent again": afterAnAnswer((client) => client.chat.sendMessage()),
    "over in the meantime": overInTheMeantime,
  },
  { config, atOnce: 9 },
);
