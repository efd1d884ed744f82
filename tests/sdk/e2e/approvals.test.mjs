// A person is asked: what a stock client shows, and that it sends exactly once for each answer.

import assert from "node:assert/strict";
import { play } from "./support/play.mjs";

async function approve({ open }) {
  const client = open();
  await client.say("pay Ann");
  assert.equal(client.text, "One moment.");
  await client.decide(client.tool("process_payment"), true);
  await client.rests({ sends: 2 });

  const { output, state, approval } = client.tool("process_payment");
  assert.equal(state, "output-available");
  assert.equal(output.success, true);
  assert.equal(output.wallet_balance, 970);
  assert.equal(approval.approved, true);
  assert.equal(client.text, "One moment.That is settled.");
  assert.ok(client.answer);
  await client.agrees();
}

async function deny({ open, api }) {
  const client = open();
  await client.say("pay Ann");
  const { approval } = client.tool("process_payment");
  await client.decide(client.tool("process_payment"), false, "too much");
  await client.rests({ sends: 2 });

  assert.deepEqual(client.tool("process_payment").approval, { id: approval.id, approved: false, reason: "too much" });
  assert.deepEqual(client.states, ["process_payment output-denied"]);
  assert.equal(client.text, "One moment.That is settled.");
  assert.ok(client.answer);
  await client.agrees();
  const inbox = await api("/api/approvals");
  assert.ok(inbox.body.every(({ approvalId }) => approvalId !== approval.id));
}

async function mixedParallel({ open }) {
  const client = open();
  await client.say("pay both");
  const [ann, bob] = client.tools;
  await client.decide(ann, true);
  await client.rests({ sends: 1 });
  await client.decide(bob, false, "not him");
  await client.rests({ sends: 2 });

  assert.deepEqual(client.states, ["process_payment output-available", "process_payment output-denied"]);
  assert.equal(client.tools[0].output.wallet_balance, 990);
  assert.equal(client.text, "Two payments.Both answered.");
  assert.ok(client.answer);
  await client.agrees();
}

async function twoInARow({ open }) {
  const client = open();
  await client.say("pay twice");
  await client.decide(client.tool("process_payment"), true);
  await client.rests({ sends: 2 });
  assert.deepEqual(client.states, ["process_payment output-available", "process_payment approval-requested"]);
  await client.decide(client.tools[1], true);
  await client.rests({ sends: 3 });

  assert.deepEqual(
    client.tools.map(({ output }) => output.wallet_balance),
    [990, 970],
  );
  assert.equal(client.text, "One is done.Two are done.");
  assert.ok(client.answer);
  await client.agrees();
}

/** The call that needs nobody is settled before the question is shown. */
async function besideACallWithoutApproval({ open }) {
  const client = open();
  await client.say("pay and look");
  assert.deepEqual(client.states, ["process_payment approval-requested", "get_weather output-available"]);
  await client.decide(client.tool("process_payment"), true);
  await client.rests({ sends: 2 });
  assert.deepEqual(client.states, ["process_payment output-available", "get_weather output-available"]);
  assert.ok(client.answer);
  await client.agrees();
}

async function newMessageOverAPendingApproval({ open, api }) {
  const client = open();
  await client.say("pay Ann");
  const asked = client.tool("process_payment");
  await client.say("hello");
  await client.rests({ sends: 2 });
  assert.equal(client.text, "Hello to you.");
  assert.equal(client.messages.length, 4);

  const [, closed] = await client.history();
  const part = closed.parts.find(({ toolCallId }) => toolCallId === asked.toolCallId);
  assert.equal(part.state, "output-denied");
  assert.match(part.approval.reason, /superseded/i);

  // The card is still on the client's screen: a late yes runs nothing and starts no loop.
  await client.decide(asked, true);
  await client.rests({ sends: 2 });
  const late = await api(`/api/approvals/${asked.approval.id}`, { body: { approved: true } });
  assert.equal(late.status, 410);
  await client.say("pay Ann");
  await client.decide(client.tool("process_payment"), true);
  await client.rests({ sends: 4 });
  assert.equal(client.tool("process_payment").output.wallet_balance, 970, "only the second payment was made");
}

async function reloadInMidApproval({ open }) {
  const before = open();
  await before.say("pay Ann");
  await before.rests({ sends: 1 });
  const messages = await before.history();
  await before.close();

  const after = open({ messages });
  assert.deepEqual(after.states, ["process_payment approval-requested"]);
  await after.decide(after.tool("process_payment"), true);
  await after.rests({ sends: 1 });
  assert.equal(after.tool("process_payment").output.success, true);
  assert.equal(after.text, "One moment.That is settled.");
  assert.deepEqual(
    after.messages.map(({ id }) => id),
    messages.map(({ id }) => id),
  );
  assert.ok(after.answer);
  await after.agrees();
}

/** The inbox was first; the client's own answer gets what followed. */
async function answeredInTheInboxFirst({ open, api }) {
  const client = open();
  await client.say("pay Ann");
  const asked = client.tool("process_payment");
  const decided = await api(`/api/approvals/${asked.approval.id}`, { body: { approved: true } });
  assert.deepEqual(decided, { status: 200, body: { ok: true } });
  await client.decide(asked, true);
  await client.rests({ sends: 2 });
  assert.equal(client.tool("process_payment").output.wallet_balance, 970);
  assert.equal(client.text, "One moment.That is settled.");
  assert.ok(client.answer);
  await client.agrees();
}

/** The inbox said no, the client says yes: the first answer stands, and the client is told so. */
async function contradictedByTheInbox({ open, api, allow }) {
  allow("F1");
  const client = open();
  await client.say("pay Ann");
  const asked = client.tool("process_payment");
  await api(`/api/approvals/${asked.approval.id}`, { body: { approved: false } });
  await client.decide(asked, true);
  await client.rests({ sends: 2, error: /\w/ });

  const messages = await client.history();
  assert.equal(messages.at(-1).parts.find(({ type }) => type === "tool-process_payment").state, "output-denied");
  client.chat.messages = messages;
  await client.say("hello");
  await client.rests({ sends: 3 });
  assert.equal(client.text, "Hello to you.");
  await client.agrees();
}

play("approvals", {
  approve,
  "deny with a reason": deny,
  "mixed parallel": mixedParallel,
  "two in a row": twoInARow,
  "beside a call without approval": besideACallWithoutApproval,
  "new message over a pending approval": newMessageOverAPendingApproval,
  "reload in mid-approval": reloadInMidApproval,
  "answered in the inbox first": answeredInTheInboxFirst,
  "contradicted by the inbox": contradictedByTheInbox,
});
