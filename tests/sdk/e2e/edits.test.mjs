// Somebody changes a call's input in the inbox, or answers in the tool's place: what a stock client shows.

import assert from "node:assert/strict";
import { play } from "./support/play.mjs";
import { isTool, settledOf } from "./support/record.mjs";

const EDITED = { amount: 20, recipient: "Bob", currency: "USD" };

const decide = async (api, { approval }, body) => {
  const decided = await api(`/api/approvals/${approval.id}`, { body });
  assert.deepEqual(decided, { status: 200, body: { ok: true } });
};

/** The client's own yes gets the continuation, with the input that ran, in the same part. */
async function edited({ open, api }) {
  const client = open();
  await client.say("pay Ann");
  const asked = client.tool("process_payment");
  await decide(api, asked, { approved: true, input: EDITED, reason: "less" });
  await client.decide(asked, true, "less");
  await client.rests({ sends: 2 });
  assert.deepEqual(client.states, ["process_payment output-available"]);
  const { input, output } = client.tool("process_payment");
  assert.deepEqual(input, EDITED);
  assert.deepEqual([output.recipient, output.wallet_balance], ["Bob", 980]);
  assert.equal(client.text, "One moment.That is settled.");
  assert.ok(client.answer);
  await client.agrees();
  const kept = (await client.history()).at(-1).parts.filter(isTool);
  assert.deepEqual(
    kept.map(({ input }) => input),
    [EDITED],
  );
  assert.equal(settledOf(kept[0]).edited, true);
  const { decision } = await client.hold(asked);
  assert.deepEqual(
    [decision.kind, decision.reason, decision.originalInput],
    ["edit", "less", { ...EDITED, amount: 30, recipient: "Ann" }],
  );
}

/** One of two was edited: each part has its own input. */
async function oneOfTwo({ open, api }) {
  const client = open();
  await client.say("pay both");
  const [ann, bob] = client.tools;
  await decide(api, bob, { approved: true, input: { ...EDITED, amount: 5 } });
  await client.decide(ann, true);
  await client.decide(bob, true);
  await client.rests({ sends: 2 });
  assert.deepEqual(client.states, ["process_payment output-available", "process_payment output-available"]);
  assert.deepEqual(
    client.tools.map(({ input }) => input.amount),
    [10, 5],
  );
  await client.agrees();
}

/** A page that is loaded afterwards has only the input that ran. */
async function loadedAfterwards({ open, api }) {
  const client = open();
  await client.say("pay Ann");
  const asked = client.tool("process_payment");
  await decide(api, asked, { approved: true, input: EDITED });
  await client.decide(asked, true);
  await client.rests({ sends: 2 });
  const after = open({ messages: await client.history() });
  assert.deepEqual(after.tool("process_payment").input, EDITED);
  await after.say("hello");
  await after.rests({ sends: 1 });
  await after.agrees();
}

/** The tool did not run, and its part has the person's output. */
async function answered({ open, api }) {
  const client = open();
  await client.say("pay Ann");
  const asked = client.tool("process_payment");
  await decide(api, asked, { output: { success: true, note: "by hand" } });
  await client.decide(asked, true);
  await client.rests({ sends: 2 });
  const { state, input, output } = client.tool("process_payment");
  assert.deepEqual([state, input, output], ["output-available", asked.input, { success: true, note: "by hand" }]);
  await client.agrees();
  const kept = (await client.history()).at(-1).parts.find(isTool);
  assert.deepEqual([settledOf(kept).cause, settledOf(kept).edited], ["decision", false]);
}

/** An input that does not fit changes nothing: the question is still open. */
async function doesNotFit({ open, api }) {
  const client = open();
  await client.say("pay Ann");
  const asked = client.tool("process_payment");
  const { status, body } = await api(`/api/approvals/${asked.approval.id}`, {
    body: { approved: true, input: { ...EDITED, amount: "much" } },
  });
  assert.deepEqual([status, body.pointer], [422, "/input/amount"]);
  await client.decide(asked, true);
  await client.rests({ sends: 2 });
  assert.deepEqual(client.tool("process_payment").input, asked.input);
  assert.equal(client.tool("process_payment").output.wallet_balance, 970);
  await client.agrees();
}

play("edits and answers", {
  "an edited input": edited,
  "one of two is edited": oneOfTwo,
  "a page loaded afterwards": loadedAfterwards,
  "an answer in the tool's place": answered,
  "an input that does not fit": doesNotFit,
});
