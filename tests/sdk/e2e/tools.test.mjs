// Calls without an approval: they run at once, or can't run at all.

import assert from "node:assert/strict";
import { play } from "./support/play.mjs";
import { isTool, settledOf } from "./support/record.mjs";

/** The causes of the outcomes of the last message's calls. */
const causes = async (client) => {
  const { parts } = (await client.history()).at(-1);
  return parts.filter(isTool).map((part) => settledOf(part)?.cause);
};

async function serverTool({ open }) {
  const client = open();
  await client.say("weather");
  await client.rests({ sends: 1 });
  const { state, output } = client.tool("get_weather");
  assert.equal(state, "output-available");
  assert.equal(typeof output.temperature, "number");
  assert.equal(client.text, "It is fine.");
  assert.ok(client.answer);
  await client.agrees();
  assert.deepEqual(await causes(client), ["ran"]);
  assert.deepEqual(await client.holds(), []);
}

async function severalSteps({ open }) {
  const client = open();
  await client.say("look twice");
  await client.rests({ sends: 1 });
  assert.deepEqual(client.states, ["get_weather output-available", "get_weather output-available"]);
  assert.equal(client.answer.parts.filter(({ type }) => type === "step-start").length, 3);
  await client.agrees();
}

async function delegate({ open }) {
  const client = open();
  await client.say("music");
  await client.rests({ sends: 1 });
  assert.equal(client.tool("change_bgm").output.success, true);
  assert.equal(client.text, "Music!");
  await client.agrees();
  assert.deepEqual(await causes(client), ["ran"]);
}

async function reasoning({ open }) {
  const client = open();
  await client.say("think");
  await client.rests({ sends: 1 });
  const thoughts = client.answer.parts.filter(({ type }) => type === "reasoning");
  assert.deepEqual(
    thoughts.map(({ text, state }) => [text, state]),
    [
      ["Hm.", "done"],
      ["I see.", "done"],
    ],
  );
  await client.agrees();
}

/** Input that is invalid, or can't be shown as it is: no approval is requested, and nothing runs. */
const badInput = (text, why) => async (play) => {
  const client = play.open();
  await client.say(text);
  await client.rests({ sends: 1 });
  const part = client.tool("process_payment");
  assert.equal(part.state, "output-error");
  assert.match(part.errorText, why);
  assert.equal(client.text, "I got that wrong.");
  assert.ok(client.answer);
  await client.agrees();
  assert.deepEqual(await causes(client), ["refused"]);
  assert.deepEqual(await client.holds(), []);

  // Nothing was paid, and the chat continues: the client also sends back the part with the bad input.
  await client.say("pay Ann");
  await client.decide(client.tool("process_payment"), true);
  await client.rests({ sends: 3 });
  assert.equal(client.tool("process_payment").output.wallet_balance, 970);
  await client.agrees();
};

async function unknownTool({ open }) {
  const client = open();
  await client.say("unknown tool");
  await client.rests({ sends: 1 });
  assert.deepEqual(client.states, ["fly_to_moon output-error"]);
  assert.equal(client.text, "There is no such tool.");
  assert.ok(client.answer);
  await client.agrees();
  assert.deepEqual(await causes(client), ["refused"]);
}

/** A call that can't run beside a held one: the answer is still sent once. */
async function unknownBesideApproval({ open }) {
  const client = open();
  await client.say("half bad");
  assert.deepEqual(client.states, ["fly_to_moon output-error", "process_payment approval-requested"]);
  await client.decide(client.tool("process_payment"), true);
  await client.rests({ sends: 2 });
  assert.deepEqual(client.states, ["fly_to_moon output-error", "process_payment output-available"]);
  assert.equal(client.text, "Half of it was done.");
  assert.ok(client.answer);
  await client.agrees();
  assert.deepEqual(await causes(client), ["refused", "ran"]);
}

play("tools", {
  "server tool without approval": serverTool,
  "several steps": severalSteps,
  delegate,
  reasoning,
  "bad input": badInput("bad input", /recipient/),
  "input with a key that clients drop": badInput("hidden input", /__proto__/),
  "input with a number that clients round": badInput("huge input", /9007199254740992/),
  "input that is too deep": badInput("deep input", /48 levels/),
  "unknown tool": unknownTool,
  "unknown tool beside an approval": unknownBesideApproval,
});
