// The token budget of a turn: a stock client is asked whether to go on, although no model asked.

import assert from "node:assert/strict";
import { play } from "./support/play.mjs";

const weather = (location) => ({ toolCall: { name: "get_weather", input: { location } } });
const script = {
  turns: [
    { when: "hello", usage: { promptTokens: 1, completionTokens: 1 }, steps: [[{ text: ["Hello to you."] }]] },
    {
      when: "compare",
      usage: { promptTokens: 60, completionTokens: 40 },
      steps: [[weather("Rome")], [weather("Oslo")], [{ text: ["Rome is warmer."] }]],
    },
  ],
};
const config = "[model]\nturn_token_budget = 100\n";
const states = (...ends) =>
  ends.flatMap((end) => ["get_weather output-available", ...(end ? [`continue_turn ${end}`] : [])]);
const asking = (client) => client.tools.findLast(({ state }) => state === "approval-requested");

/** The client's own auto-send continues the turn, once for each yes. */
async function yes({ open }) {
  const client = open();
  await client.say("compare");
  assert.deepEqual(client.states, states("approval-requested"));
  await client.decide(asking(client), true);
  await client.rests({ sends: 2 });
  assert.deepEqual(client.states, states("output-available", "approval-requested"));
  await client.decide(asking(client), true);
  await client.rests({ sends: 3 });
  assert.deepEqual(client.states, states("output-available", "output-available"));
  assert.equal(client.text, "Rome is warmer.");
  assert.ok(client.answer);
  await client.agrees();
}

/** The turn is over, and the client does not send again for ever. */
async function no({ open }) {
  const client = open();
  await client.say("compare");
  await client.decide(asking(client), false);
  await client.rests({ sends: 2 });
  assert.deepEqual(client.states, states("output-denied"));
  await client.say("hello");
  await client.rests({ sends: 3 });
  assert.equal(client.text, "Hello to you.");
}

play("the token budget", { yes, no }, { script, config });
