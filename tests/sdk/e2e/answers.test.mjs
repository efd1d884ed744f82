// Answers that come with a new message, in an odd place, or to an approval request of an earlier turn: the decision is
// what takes effect.

import assert from "node:assert/strict";
import { config, HERE, locates, PHOTO } from "./support/browser.mjs";
import { KINDS } from "./support/client.mjs";
import { play } from "./support/play.mjs";
import { isTool, settledOf, summary } from "./support/record.mjs";

const partsOf = (message) => message.parts.filter(isTool);

/** A stock client without auto-send: the answer is in its messages, and is sent with the next text. */
async function asked({ open }, text = "pay Ann", options = {}) {
  const client = open({ isManual: true, ...options });
  await client.say(text);
  await client.rests({ sends: 1 });
  return client;
}

/** The response shows only the new turn; the record has both, in order. */
async function newTurnOnly(client, { states, causes }) {
  await client.rests({ sends: 2 });
  assert.equal(client.chat.error, undefined);
  assert.equal(client.text, "Hello to you.");
  assert.equal(client.messages.length, 4);
  assert.ok(client.answer);
  const messages = await client.history();
  assert.deepEqual(
    messages.map(({ id }) => id),
    client.messages.map(({ id }) => id),
  );
  assert.deepEqual(partsOf(client.messages[3]), []);
  const parts = partsOf(messages[1]);
  assert.deepEqual(
    parts.map(({ state }) => state),
    states,
  );
  assert.deepEqual(
    parts.map((part) => settledOf(part).cause),
    causes,
  );
  return { messages, parts };
}

/** Pays once more, with a client in sync with the server: the balance shows what was paid before. */
async function pays({ open, newTab }, balance) {
  const client = open({ tab: newTab() });
  client.chat.messages = await client.history();
  await client.say("pay Ann");
  await client.decide(client.tool("process_payment"), true);
  await client.rests({ sends: 2 });
  assert.equal(client.tool("process_payment").output.wallet_balance, balance);
  assert.ok(client.answer);
  await client.agrees();
}

async function approvedWithText(play) {
  const client = await asked(play);
  const question = client.tool("process_payment");
  await client.decide(question, true);
  await client.rests({ sends: 1 });
  await client.say("hello");
  const { parts } = await newTurnOnly(client, { states: ["output-available"], causes: ["ran"] });
  assert.deepEqual(parts[0].approval, { id: question.approval.id, approved: true });
  assert.equal(parts[0].output.wallet_balance, 970);
  assert.deepEqual(settledOf(parts[0]).decidedBy, ["local"]);
  assert.deepEqual(summary(await client.hold(question)), {
    kind: "approval",
    state: "settled",
    decision: { kind: "approve", by: ["local"] },
    cause: "ran",
    cut: false,
  });

  // The client's copy still says "approved, no outcome", and every request carries it: nothing runs again.
  await client.say("hello");
  await client.rests({ sends: 3 });
  assert.equal(client.text, "Hello to you.");
  await pays(play, 940);
}

async function deniedWithText(play) {
  const client = await asked(play);
  const question = client.tool("process_payment");
  await client.decide(question, false, "too much");
  await client.say("hello");
  const { parts } = await newTurnOnly(client, { states: ["output-denied"], causes: ["decision"] });
  assert.deepEqual(parts[0].approval, { id: question.approval.id, approved: false, reason: "too much" });
  assert.deepEqual(settledOf(parts[0]).decidedBy, ["local"]);
  await pays(play, 970);
}

/** One of two was answered: that decision counts, the other call is superseded. */
async function oneOfTwoWithText(play) {
  const client = await asked(play, "pay both");
  const [ann, bob] = client.tools;
  await client.decide(ann, true);
  await client.say("hello");
  const { parts } = await newTurnOnly(client, {
    states: ["output-available", "output-denied"],
    causes: ["ran", "superseded"],
  });
  assert.equal(parts[0].output.wallet_balance, 990);
  assert.deepEqual(settledOf(parts[1]).decidedBy, []);
  assert.equal((await play.api(`/api/approvals/${bob.approval.id}`, { body: { approved: true } })).status, 410);
  await pays(play, 960);
}

/** The browser's call was approved, and the user continued before it ran: it was neither denied nor run. */
async function browsersCallWithText(play) {
  const client = await asked(play, "where", { onToolCall: locates });
  const question = client.tool("get_location");
  await client.decide(question, true);
  await client.say("hello");
  const { parts } = await newTurnOnly(client, { states: ["output-error"], causes: ["superseded"] });
  assert.deepEqual(client.toolCalls, []);
  assert.deepEqual(parts[0].approval, { id: question.approval.id, approved: true });
  assert.equal((await play.ack(question.toolCallId, { output: HERE })).status, 410);
}

async function resultWithText(play) {
  const client = await asked(play, "photo");
  await client.output(client.tool("take_photo"), PHOTO);
  await client.rests({ sends: 1 });
  await client.say("hello");
  const { parts } = await newTurnOnly(client, { states: ["output-available"], causes: ["result"] });
  assert.deepEqual(parts[0].output, PHOTO);
  await client.agrees();
}

/**
 * The answer contradicts a decision in the inbox: the inbox's stays in force, and the new message is still answered.
 */
async function contradictionWithText(play) {
  const client = await asked(play);
  const question = client.tool("process_payment");
  await play.api(`/api/approvals/${question.approval.id}`, { body: { approved: false } });
  await client.until("the turn is over", async () => (await client.history()).at(-1).parts.at(-1).type === "text");
  await client.decide(question, true);
  await client.say("hello");
  await newTurnOnly(client, { states: ["output-denied"], causes: ["decision"] });
  await pays(play, 970);
}

/** Another tab has continued with a newer message; this one still shows the approval request, and answers it. */
const answeredTooLate = (approved) => async (play) => {
  const old = play.open();
  await old.say("pay Ann");
  await old.rests({ sends: 1 });
  const question = old.tool("process_payment");
  const other = play.open({ tab: play.newTab() });
  other.chat.messages = await other.history();
  await other.say("hello");
  await other.rests({ sends: 1 });

  await old.decide(question, approved);
  await old.rests({ sends: 2 });
  assert.equal(old.messages.length, 2, "no message is doubled");
  assert.equal(old.answer.id, other.messages[1].id);
  assert.deepEqual(old.states, [`process_payment ${approved ? "output-error" : "output-denied"}`]);
  if (approved) assert.doesNotMatch(old.tool("process_payment").errorText, /denied/i, "nobody denied it");
  assert.equal(old.text, "One moment.");
  const shown = old.tab.chunks.slice(old.tab.chunks.findLastIndex(({ type }) => type === "start"));
  assert.deepEqual(
    shown.map(({ type }) => type),
    ["start", approved ? "tool-output-error" : "tool-output-denied", "start-step", "finish-step", "finish"],
  );

  const [, kept] = await other.history();
  assert.deepEqual([partsOf(kept)[0].state, settledOf(partsOf(kept)[0]).cause], ["output-denied", "superseded"]);

  // Both continue.
  await old.say("weather");
  await old.rests({ sends: 3 });
  assert.equal(old.text, "It is fine.");
  assert.equal((await old.history()).length, 6);
  await pays(play, 970);
};

/** The same with a browser result: it arrives after the call was closed, and is not accepted. */
async function resultTooLate(play) {
  const old = play.open();
  await old.say("photo");
  await old.rests({ sends: 1 });
  const other = play.open({ tab: play.newTab() });
  other.chat.messages = await other.history();
  await other.say("hello");
  await other.rests({ sends: 1 });

  await old.output(old.tool("take_photo"), PHOTO);
  await old.rests({ sends: 2 });
  assert.equal(old.messages.length, 2, "no message is doubled");
  assert.equal(old.answer.id, other.messages[1].id);
  assert.deepEqual(old.states, ["take_photo output-error"]);
  const [, kept] = await other.history();
  assert.deepEqual([partsOf(kept)[0].state, settledOf(partsOf(kept)[0]).cause], ["output-error", "superseded"]);
  await old.say("weather");
  await old.rests({ sends: 3 });
  assert.equal(old.text, "It is fine.");
}

/** Both tabs have run the call, with different results: the first is in force, and both show it. */
async function twoResults(play) {
  const first = play.open();
  await first.say("photo");
  const second = play.open({ tab: play.newTab(), messages: first.messages });
  await first.output(first.tool("take_photo"), PHOTO);
  await first.rests({ sends: 2 });
  await second.output(second.tool("take_photo"), { width: 1, height: 1 });
  await second.rests({ sends: 1 });
  for (const client of [first, second]) {
    assert.deepEqual(client.tool("take_photo").output, PHOTO);
    assert.equal(client.text, "Nice photo.");
    assert.ok(client.answer);
    await client.agrees();
  }
}

/** Another tab has withdrawn the message with its approval request: this one learns that nothing was done. */
const answeredAfterACut = (cut) => async (play) => {
  const old = play.open();
  await old.say("pay Ann");
  await old.rests({ sends: 1 });
  const question = old.tool("process_payment");
  const other = play.open({ tab: play.newTab() });
  other.chat.messages = await other.history();
  await cut(other);
  await other.rests({ sends: 1 });
  const { id } = old.answer;
  assert.notEqual(other.answer.id, id);

  await old.decide(question, true);
  await old.rests({ sends: 2 });
  assert.equal(old.messages.length, 2, "no message is doubled");
  assert.equal(old.answer.id, id);
  assert.deepEqual(old.states, ["process_payment output-error"]);
  await other.agrees();
  assert.deepEqual(summary(await old.hold(question)), {
    kind: "approval",
    state: "settled",
    cause: "superseded",
    cut: true,
  });
  await old.say("weather");
  await old.rests({ sends: 3 });
  assert.equal(old.text, "It is fine.");
  assert.ok(old.answer);
  await pays(play, 970);
};

const regenerates = ({ chat }) => chat.regenerate();
const edits = ({ chat }) => chat.sendMessage({ text: "hello", messageId: chat.messages[0].id });

/** In the same tab: the old card is answered, and the app sends it by hand, as the SDK allows. */
async function answeredOnAnOldCard(play) {
  const client = play.open();
  await client.say("pay Ann");
  const question = client.tool("process_payment");
  await client.say("hello");
  const answer = structuredClone(client.answer);
  await client.decide(question, true);
  await client.rests({ sends: 2 });
  await client.chat.sendMessage();
  await client.rests({ sends: 3 });
  assert.deepEqual(client.answer, answer, "the newer answer stays as it is");
  assert.equal(client.messages.length, 4);
  const [part] = partsOf(client.messages[1]);
  assert.deepEqual([part.toolCallId, part.state], [question.toolCallId, "output-error"]);
  await pays(play, 970);
}

/** What clients other than the SDK's send: the SDK client's rules do not apply to the answer. */
async function post({ api, chatId }, messages) {
  const { status, body } = await api("/api/chat", { body: { id: chatId, messages, trigger: "submit-message" } });
  return { status, chunks: [...body.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json)) };
}

/** An answer in a separate user message, in the SDK's form and in the older one. */
const inAUserMessage = (answerOf) => async (play) => {
  const client = await asked(play);
  const question = client.tool("process_payment");
  const message = { id: "user-answer", role: "user", parts: [answerOf(question)] };
  const { status, chunks } = await post(play, [...client.messages, message]);
  assert.equal(status, 200);
  assert.deepEqual(chunks[0], { type: "start", messageId: client.messages[1].id });
  assert.equal(chunks.find(({ type }) => type === "tool-output-available").output.wallet_balance, 970);
  const messages = await client.history();
  assert.equal(messages.length, 2, "an answer does not add a message");
  assert.deepEqual(settledOf(partsOf(messages[1])[0]).decidedBy, ["local"]);
  await pays(play, 940);
};

const sdkShape = (part) => ({ ...part, state: "approval-responded", approval: { ...part.approval, approved: true } });
const olderShape = ({ approval }) => ({ type: "tool-confirmation", approval: { id: approval.id, approved: true } });

/** With text beside it: the answer is applied first, then the text starts its own turn. */
async function inAUserMessageWithText(play) {
  const client = await asked(play);
  const question = client.tool("process_payment");
  const parts = [{ type: "text", text: "hello" }, sdkShape(question)];
  const { status, chunks } = await post(play, [...client.messages, { id: "user-2", role: "user", parts }]);
  assert.equal(status, 200);
  assert.notEqual(chunks[0].messageId, client.messages[1].id);
  assert.ok(chunks.every(({ type }) => !type.startsWith("tool-")));
  const messages = await client.history();
  assert.deepEqual(
    messages.map(({ role }) => role),
    ["user", "assistant", "user", "assistant"],
  );
  assert.deepEqual(
    messages[2].parts,
    [{ type: "text", text: "hello" }],
    "the answer does not become part of the message",
  );
  assert.deepEqual(settledOf(partsOf(messages[1])[0]).cause, "ran");
  await pays(play, 940);
}

/** A result alone, in the older form. */
async function aResultAlone(play) {
  const client = await asked(play, "photo");
  const { toolCallId } = client.tool("take_photo");
  const parts = [{ type: "tool-result", toolCallId, result: PHOTO }];
  const { status, chunks } = await post(play, [{ id: "user-answer", role: "user", parts }]);
  assert.equal(status, 200);
  assert.deepEqual(chunks.find(({ type }) => type === "tool-output-available").output, PHOTO);
  assert.equal((await client.history()).length, 2);
}

/** An approval request that never existed has no answer, wherever it is placed. */
async function neverAsked(play) {
  const client = await asked(play);
  const invented = { ...client.tool("process_payment"), toolCallId: "call_x", approval: { id: "approval_x" } };
  for (const role of ["user", "assistant"]) {
    const { status } = await post(play, [{ id: `${role}-x`, role, parts: [sdkShape(invented)] }]);
    assert.equal(status, 409);
  }
  const [hold] = await client.holds();
  assert.equal(hold.state, "waiting");
  await client.decide(client.tool("process_payment"), true);
  await client.chat.sendMessage();
  await client.rests({ sends: 2 });
  assert.equal(client.tool("process_payment").output.wallet_balance, 970);
  await client.agrees();
}

play(
  "answers with a new message, and to an earlier turn",
  {
    "approved, with a new message": approvedWithText,
    "denied, with a new message": deniedWithText,
    "one of two, with a new message": oneOfTwoWithText,
    "a browser's call approved, with a new message": browsersCallWithText,
    "a browser's result, with a new message": resultWithText,
    "a contradiction, with a new message": contradictionWithText,
    "approved after another tab has gone on": answeredTooLate(true),
    "denied after another tab has gone on": answeredTooLate(false),
    "a browser's result after another tab has gone on": resultTooLate,
    "two results of a browser's": twoResults,
    "approved after another tab has regenerated": answeredAfterACut(regenerates),
    "approved after another tab has edited": answeredAfterACut(edits),
    "approved on an old card, and sent by hand": answeredOnAnOldCard,
  },
  { config },
);

play(
  "answers as other clients send them",
  {
    "in a user message": inAUserMessage(sdkShape),
    "in a user message, in the older shape": inAUserMessage(olderShape),
    "in a user message, with text": inAUserMessageWithText,
    "a result alone, in the older shape": aResultAlone,
    "to a question that was never asked": neverAsked,
  },
  { config, kinds: KINDS.slice(0, 1) },
);
