// A person decides: what a stock client shows, and that it sends exactly once per answer.

import assert from "node:assert/strict";
import { play } from "./support/play.mjs";
import { isTool, settledOf, summary } from "./support/record.mjs";

async function approve({ open }) {
  const client = open();
  await client.say("pay Ann");
  assert.equal(client.text, "One moment.");
  const asked = client.tool("process_payment");
  const waiting = await client.hold(asked);
  assert.deepEqual(summary(waiting), {
    kind: "approval",
    state: "waiting",
    allowed: ["approve", "deny", "edit", "answer", "remember"],
    cut: false,
  });
  assert.equal(waiting.approvalId, asked.approval.id);
  assert.deepEqual(waiting.input, asked.input);
  assert.equal(waiting.messageId, client.answer.id);
  assert.equal(Date.parse(waiting.expiresAt) - Date.parse(waiting.requestedAt), 300_000);
  await client.decide(asked, true);
  await client.rests({ sends: 2 });

  const { output, state, approval } = client.tool("process_payment");
  assert.equal(state, "output-available");
  assert.equal(output.success, true);
  assert.equal(output.wallet_balance, 970);
  assert.equal(approval.approved, true);
  assert.equal(client.text, "One moment.That is settled.");
  assert.ok(client.answer);
  await client.agrees();
  const settled = await client.hold(asked);
  assert.deepEqual(summary(settled), {
    kind: "approval",
    state: "settled",
    decision: { kind: "approve", by: ["local"] },
    cause: "ran",
    cut: false,
  });
  assert.equal(settled.requestedAt, waiting.requestedAt);
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
  assert.deepEqual(summary(await client.hold(client.tool("process_payment"))), {
    kind: "approval",
    state: "settled",
    decision: { kind: "deny", by: ["local"], reason: "too much" },
    cause: "decision",
    cut: false,
  });
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

/** The call without an approval is settled before the approval request is shown. */
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
  assert.deepEqual(settledOf(part), { cause: "superseded", decidedBy: [], edited: false }, "nobody denied it");

  // The card is still on the client's screen: a late approval runs nothing and starts no loop.
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

/** The inbox decided first; the client's own answer gets the continuation. */
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

/**
 * The inbox denied, the client approves: the first decision stays in force, and the client gets the continuation, as an
 * error of the call.
 */
async function contradictedByTheInbox({ open, api }) {
  const client = open();
  await client.say("pay Ann");
  const asked = client.tool("process_payment");
  await api(`/api/approvals/${asked.approval.id}`, { body: { approved: false, reason: "not now" } });
  await client.decide(asked, true);
  await client.rests({ sends: 2 });
  const { state, errorText } = client.tool("process_payment");
  assert.deepEqual({ state, errorText }, { state: "output-error", errorText: "User denied the tool call: not now" });
  assert.equal(client.text, "One moment.That is settled.");
  assert.ok(client.answer);

  const messages = await client.history();
  const kept = messages.at(-1).parts.find(isTool);
  assert.equal(kept.state, "output-denied");
  assert.deepEqual(kept.approval, { id: asked.approval.id, approved: false, reason: "not now" });
  assert.deepEqual([settledOf(kept).cause, settledOf(kept).decidedBy], ["decision", ["local"]]);
  client.chat.messages = messages;
  await client.say("hello");
  await client.rests({ sends: 3 });
  assert.equal(client.text, "Hello to you.");
  await client.agrees();
}

/** The inbox approved, the client denies: the payment was made, and the client shows it. */
async function approvedInTheInbox({ open, api }) {
  const client = open();
  await client.say("pay Ann");
  const asked = client.tool("process_payment");
  await api(`/api/approvals/${asked.approval.id}`, { body: { approved: true } });
  await client.decide(asked, false, "changed my mind");
  await client.rests({ sends: 2 });
  assert.equal(client.tool("process_payment").state, "output-available");
  assert.equal(client.tool("process_payment").output.wallet_balance, 970);
  assert.equal(client.text, "One moment.That is settled.");
  assert.ok(client.answer);
  const kept = (await client.history()).at(-1).parts.find(isTool);
  assert.deepEqual(kept.approval, { id: asked.approval.id, approved: true });
  assert.equal(settledOf(kept).cause, "ran");
}

/** One of two was contradicted, the other answer is new: the response has the outcome of both. */
async function halfContradicted({ open, api }) {
  const client = open();
  await client.say("pay both");
  const [ann, bob] = client.tools;
  await api(`/api/approvals/${ann.approval.id}`, { body: { approved: false } });
  await client.decide(ann, true);
  await client.decide(bob, true);
  await client.rests({ sends: 2 });
  assert.deepEqual(client.states, ["process_payment output-error", "process_payment output-available"]);
  assert.equal(client.tools[1].output.wallet_balance, 980);
  assert.equal(client.text, "Two payments.Both answered.");
  assert.ok(client.answer);
  const kept = (await client.history()).at(-1).parts.filter(isTool);
  assert.deepEqual(
    kept.map(({ state }) => state),
    ["output-denied", "output-available"],
  );
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
  "denied in the inbox, approved here": contradictedByTheInbox,
  "approved in the inbox, denied here": approvedInTheInbox,
  "one of two contradicted": halfContradicted,
});
