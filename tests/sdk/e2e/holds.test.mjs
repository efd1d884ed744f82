// `GET /api/chat/{id}/holds`: what is held, who decided, the cause of each outcome, and what a regeneration or an edit
// can't hide.

import assert from "node:assert/strict";
import { config, firstCall, locates, PHOTO } from "./support/browser.mjs";
import { play } from "./support/play.mjs";
import { isTool, settledOf, summary } from "./support/record.mjs";

const approved = { kind: "approve", by: ["local"] };
const paid = { kind: "approval", state: "settled", decision: approved, cause: "ran", cut: false };
const asks = {
  kind: "approval",
  state: "waiting",
  allowed: ["approve", "deny", "edit", "answer", "remember"],
  cut: false,
};

async function summaries(client, options) {
  return (await client.holds(options)).map(summary);
}

/** Only `kind` and `state` distinguish a hold from a call that was never held; the default lists only holds. */
async function allCalls({ open, api }) {
  const client = open();
  await client.say("pay and look");
  assert.deepEqual(await summaries(client), [asks]);
  const looked = { kind: "none", state: "settled", cause: "ran", cut: false };
  assert.deepEqual(await summaries(client, { calls: "all" }), [asks, looked]);
  const [, weather] = await client.holds({ calls: "all" });
  assert.deepEqual([weather.toolName, weather.input], ["get_weather", { location: "Kyoto" }]);
  assert.deepEqual(weather.outcome.output, client.tool("get_weather").output);
  assert.equal(weather.messageId, client.answer.id);
  assert.equal((await api(`/api/chat/${client.id}/holds?calls=some`)).status, 422);
  assert.equal((await api(`/api/chat/${client.id}-unknown/holds`)).status, 404);
}

async function stopped({ open, api }) {
  const client = open();
  await client.say("pay Ann");
  assert.equal((await api(`/api/chat/${client.id}/stop`, { method: "POST" })).status, 200);
  assert.deepEqual(await summaries(client), [{ kind: "approval", state: "settled", cause: "stopped", cut: false }]);
  const part = (await client.history()).at(-1).parts.find(isTool);
  assert.deepEqual([part.state, part.approval], ["output-error", undefined]);
  assert.deepEqual(settledOf(part), { cause: "stopped", decidedBy: [], edited: false });
}

/** Approved, and stopped before the browser had a result: the approval stays on the record. */
async function stoppedAfterTheApproval({ open, api }) {
  const client = open({ wait: "stream" });
  await client.say("where");
  const question = client.tool("get_location");
  await client.decide(question, true);
  await firstCall(client);
  assert.equal((await api(`/api/chat/${client.id}/stop`, { method: "POST" })).status, 200);
  await client.rests({ sends: 2 });
  assert.deepEqual(await summaries(client), [
    { kind: "frontend", state: "settled", decision: approved, cause: "stopped", cut: false },
  ]);
  const part = (await client.history()).at(-1).parts.find(isTool);
  assert.equal(part.state, "output-error");
  assert.deepEqual(part.approval, { id: question.approval.id, approved: true });
}

async function superseded({ open }) {
  const client = open();
  await client.say("pay Ann");
  await client.say("photo");
  await client.rests({ sends: 2 });
  const photo = { kind: "frontend", state: "waiting", cut: false };
  const denied = { kind: "approval", state: "settled", cause: "superseded", cut: false };
  assert.deepEqual(await summaries(client), [denied, photo]);
  await client.say("hello");
  await client.rests({ sends: 3 });
  assert.deepEqual(await summaries(client), [denied, { ...photo, state: "settled", cause: "superseded" }]);
  const parts = (await client.history()).flatMap(({ parts }) => parts).filter(isTool);
  assert.deepEqual(
    parts.map((part) => [part.state, settledOf(part).decidedBy]),
    [
      ["output-denied", []],
      ["output-error", []],
    ],
  );
}

/** A payment was made, and its answer regenerated: it is gone from the messages, but not from the record. */
async function regenerated({ open }) {
  const client = open();
  await client.say("pay Ann");
  await client.decide(client.tool("process_payment"), true);
  await client.rests({ sends: 2 });
  const [first] = await client.holds();
  await client.chat.regenerate();
  const [cut, again] = await client.holds();
  assert.deepEqual(cut, { ...first, cut: true, messageId: client.answer.id });
  assert.deepEqual(summary(again), asks);
  await client.decide(client.tool("process_payment"), true);
  await client.rests({ sends: 4 });
  assert.equal(client.tool("process_payment").output.wallet_balance, 940, "both were made");
  assert.deepEqual(await summaries(client), [{ ...paid, cut: true }, paid]);
  await client.agrees();
}

/** The regeneration closes an open approval request, and cuts it. */
async function regeneratedWhileAsked({ open }) {
  const client = open();
  await client.say("pay Ann");
  await client.chat.regenerate();
  await client.rests({ sends: 2 });
  assert.deepEqual(await summaries(client), [
    { kind: "approval", state: "settled", cause: "superseded", cut: true },
    asks,
  ]);
  await client.agrees();
}

/** The first message is edited: everything after it is cut, and listed with what superseded it. */
async function edited({ open }) {
  const client = open();
  await client.say("pay Ann");
  await client.decide(client.tool("process_payment"), true);
  await client.rests({ sends: 2 });
  await client.say("pay Ann");
  await client.chat.sendMessage({ text: "weather", messageId: client.messages[0].id });
  await client.rests({ sends: 4 });
  const holds = await client.holds();
  assert.deepEqual(holds.map(summary), [
    { ...paid, cut: true },
    { kind: "approval", state: "settled", cause: "superseded", cut: true },
  ]);
  assert.ok(holds.every(({ messageId }) => messageId === client.answer.id));
  await client.agrees();
}

/** Both tabs click at the same moment: one decision, one time, and both read the same. */
async function twoTabs({ open, newTab }) {
  const first = open();
  await first.say("pay Ann");
  const second = open({ tab: newTab() });
  second.chat.messages = await second.history();
  await Promise.all([
    first.decide(first.tool("process_payment"), true),
    second.decide(second.tool("process_payment"), false, "no"),
  ]);
  await first.rests({ sends: 2 });
  await second.rests({ sends: 1 });
  const holds = await first.holds();
  assert.deepEqual(await second.holds(), holds);
  assert.equal(holds.length, 1);
  const isPaid = holds[0].decision.kind === "approve";
  const denied = { ...paid, decision: { kind: "deny", by: ["local"], reason: "no" }, cause: "decision" };
  assert.deepEqual(summary(holds[0]), isPaid ? paid : denied);
  // Each tab shows the decision in force, including the one that was overruled.
  assert.deepEqual(first.states, [`process_payment ${isPaid ? "output-available" : "output-error"}`]);
  assert.deepEqual(second.states, [`process_payment ${isPaid ? "output-available" : "output-denied"}`]);
  for (const client of [first, second]) {
    assert.equal(client.text, "One moment.That is settled.");
    assert.ok(client.answer);
  }
}

/** While the call waits for the browser, the hold has its deadline, which starts at the approval. */
async function deadlines({ open, ack }) {
  const client = open({ wait: "stream", onToolCall: () => {} });
  const said = client.say("photo");
  const call = await firstCall(client);
  const [waiting] = await client.holds();
  assert.deepEqual(summary(waiting), { kind: "frontend", state: "waiting", cut: false });
  assert.equal(Date.parse(waiting.expiresAt) - Date.parse(waiting.requestedAt), 60_000);
  await ack(call, { output: PHOTO });
  await said;
  await client.say("where");
  await client.decide(client.tool("get_location"), true);
  await client.until("the browser is asked", () => client.toolCalls.length === 2);
  const { decision, expiresAt } = (await client.holds())[1];
  assert.equal(Date.parse(expiresAt) - Date.parse(decision.at), 60_000);
  await ack(client.toolCalls[1], { status: "failed", errorText: "no permission" });
  await client.rests({ sends: 3 });
  const [, { outcome }] = await client.holds();
  assert.deepEqual([outcome.cause, outcome.errorText, outcome.output], ["result", "no permission", undefined]);
  await client.agrees();
}

/** The list is in call order, across all turns. */
async function overSeveralTurns({ open }) {
  const client = open({ onToolCall: locates });
  await client.say("pay both");
  const [ann, bob] = client.tools;
  await client.decide(ann, true);
  await client.decide(bob, false, "not him");
  await client.rests({ sends: 2 });
  await client.say("where");
  await client.decide(client.tool("get_location"), true);
  await client.rests({ sends: 5 });
  assert.deepEqual(await summaries(client), [
    paid,
    { ...paid, decision: { kind: "deny", by: ["local"], reason: "not him" }, cause: "decision" },
    { kind: "frontend", state: "settled", decision: approved, cause: "result", cut: false },
  ]);
  assert.deepEqual(
    (await client.holds()).map(({ messageId }) => messageId),
    [client.messages[1].id, client.messages[1].id, client.messages[3].id],
  );
  await client.agrees();
}

play(
  "holds",
  {
    "calls that needed nobody": allCalls,
    stopped,
    "stopped after the approval": stoppedAfterTheApproval,
    superseded,
    regenerated,
    "regenerated while somebody is asked": regeneratedWhileAsked,
    edited,
    "yes and no from two tabs at once": twoTabs,
    "until when": deadlines,
    "over several turns": overSeveralTurns,
  },
  { config },
);
