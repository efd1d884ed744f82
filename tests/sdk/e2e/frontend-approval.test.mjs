// Calls that the browser runs after an approval: `onToolCall` fires once, after the approval, and never for a denied
// call.

import assert from "node:assert/strict";
import { config, firstCall, HERE, locates, PHOTO } from "./support/browser.mjs";
import { play } from "./support/play.mjs";
import { isTool, settledOf, summary } from "./support/record.mjs";

/** Runs the call only if it sees the approval, as a careful app might. */
const locatesWhenApproved = (call, client) => {
  const isApproved = (part) => isTool(part) && part.toolCallId === call.toolCallId && part.approval?.approved;
  if (client.chat.lastMessage.parts.some(isApproved)) locates(call, client);
};

const located = (client) => {
  const { state, output } = client.tool("get_location");
  assert.deepEqual({ state, output }, { state: "output-available", output: HERE });
  assert.equal(client.text, "You are there.");
  assert.ok(client.answer);
};

/** The approval request is shown with the input, and nothing was sent that would make the client run the call. */
const isAskedOnly = (client) => {
  assert.deepEqual(client.states, ["get_location approval-requested"]);
  assert.deepEqual(client.tool("get_location").input, {});
  assert.deepEqual(client.toolCalls, []);
};

/** A problem, with the reason of the ack endpoint. */
function isRefused({ status, body }, wanted, reason) {
  assert.equal(status, wanted);
  assert.deepEqual({ ok: body.ok, reason: body.reason, status: body.status }, { ok: false, reason, status: wanted });
  assert.match(body.type, /^urn:holdpoint:problem:/);
}

async function byAck({ open, ack }) {
  const client = open({ wait: "stream" });
  await client.say("where");
  isAskedOnly(client);
  const asked = client.tool("get_location");
  isRefused(await ack(asked.toolCallId, { output: HERE }), 409, "approval-required");
  await client.decide(asked, true);
  assert.equal(await firstCall(client), asked.toolCallId);
  assert.deepEqual(summary(await client.hold(asked)), {
    kind: "frontend",
    state: "waiting",
    decision: { kind: "approve", by: ["local"] },
    cut: false,
  });
  assert.deepEqual(await ack(asked.toolCallId, { output: HERE }), { status: 200, body: { ok: true } });
  await client.rests({ sends: 2 });
  located(client);
  assert.deepEqual(client.toolCalls, [asked.toolCallId]);
  await client.agrees();
}

/** `onToolCall` with only `addToolOutput`, as in the SDK's examples. */
const byResubmit = (onToolCall) => async (play) => {
  const client = play.open({ onToolCall });
  await client.say("where");
  await client.rests({ sends: 1 });
  isAskedOnly(client);
  await client.agrees();
  const asked = client.tool("get_location");
  await client.decide(asked, true);
  await client.rests({ sends: 3 });
  located(client);
  assert.deepEqual(client.toolCalls, [asked.toolCallId], "announced once, after the approval");
  await client.agrees();
  const hold = await client.hold(asked);
  assert.deepEqual(summary(hold), {
    kind: "frontend",
    state: "settled",
    decision: { kind: "approve", by: ["local"] },
    cause: "result",
    cut: false,
  });
};

/** A denied location was never read. */
const denied = (options) => async (play) => {
  const client = play.open({ ...options, onToolCall: locates });
  await client.say("where");
  const asked = client.tool("get_location");
  await client.decide(asked, false, "private");
  await client.rests({ sends: 2 });
  assert.deepEqual(client.states, ["get_location output-denied"]);
  assert.equal(client.text, "You are there.");
  assert.deepEqual(client.toolCalls, []);
  await client.agrees();
  assert.equal((await client.hold(asked)).outcome.cause, "decision");
};

/** The user refuses the browser's permission: approved, and failed. */
async function failedAfterTheApproval({ open }) {
  const client = open({
    onToolCall: ({ toolName, toolCallId }, { chat }) => {
      chat.addToolOutput({ tool: toolName, toolCallId, state: "output-error", errorText: "no permission" });
    },
  });
  await client.say("where");
  await client.decide(client.tool("get_location"), true);
  await client.rests({ sends: 3 });
  const { state, errorText, approval } = client.tool("get_location");
  assert.deepEqual([state, errorText, approval.approved], ["output-error", "no permission", true]);
  assert.equal(client.toolCalls.length, 1);
  await client.agrees();
  const kept = (await client.history()).at(-1).parts.find(isTool);
  assert.deepEqual([settledOf(kept).cause, settledOf(kept).decidedBy], ["result", ["local"]]);
}

/** The page is reloaded while the approval request is open: the decision and the call both happen in the new page. */
async function reloadBeforeTheApproval({ open }) {
  const before = open({ onToolCall: locates });
  await before.say("where");
  await before.rests({ sends: 1 });
  const messages = await before.history();
  await before.close();
  const after = open({ messages, onToolCall: locates });
  isAskedOnly(after);
  await after.decide(after.tool("get_location"), true);
  await after.rests({ sends: 2 });
  located(after);
  assert.equal(after.toolCalls.length, 1);
  assert.deepEqual(before.toolCalls, []);
  await after.agrees();
}

async function reloadAfterTheApproval({ open }) {
  const before = open();
  await before.say("where");
  await before.decide(before.tool("get_location"), true);
  await before.rests({ sends: 2 });
  const messages = await before.history();
  await before.close();
  const after = open({ messages });
  await after.output(after.tool("get_location"), HERE);
  await after.rests({ sends: 1 });
  located(after);
  await after.agrees();
}

/** Approved in the inbox while no response is open: the client's own answer makes it run the call. */
async function approvedInTheInbox({ open, api }) {
  const client = open({ onToolCall: locates });
  await client.say("where");
  await client.rests({ sends: 1 });
  const asked = client.tool("get_location");
  await api(`/api/approvals/${asked.approval.id}`, { body: { approved: true } });
  await client.idle();
  assert.deepEqual(client.toolCalls, []);
  await client.decide(asked, true);
  await client.rests({ sends: 3 });
  located(client);
  assert.deepEqual(client.toolCalls, [asked.toolCallId]);
  await client.agrees();
}

/** A second page, loaded while the response waits for the result: it runs the call once, without another approval. */
async function resumedAfterTheApproval({ open, newTab, ack }) {
  const first = open({ wait: "stream" });
  await first.say("where");
  await first.decide(first.tool("get_location"), true);
  const call = await firstCall(first);
  const second = open({ tab: newTab(), wait: "stream" });
  second.chat.messages = await second.history();
  const resumed = second.chat.resumeStream();
  assert.equal(await firstCall(second), call);
  await ack(call, { output: HERE });
  await resumed;
  await first.rests({ sends: 2 });
  await second.rests({ sends: 0, resumes: 1 });
  for (const client of [first, second]) {
    assert.deepEqual(client.tool("get_location").output, HERE);
    assert.deepEqual(client.toolCalls, [call]);
    assert.ok(client.answer);
  }
  await first.agrees();
}

/** Two approval requests for browser calls, one approved and one denied: only the approved call runs. */
async function oneOfTwo({ open }) {
  const client = open({ onToolCall: locates });
  await client.say("where twice");
  const [here, there] = client.tools;
  await client.decide(here, false);
  await client.rests({ sends: 1 });
  await client.decide(there, true);
  await client.rests({ sends: 3 });
  assert.deepEqual(client.states, ["get_location output-denied", "get_location output-available"]);
  assert.deepEqual(client.toolCalls, [there.toolCallId]);
  assert.equal(client.text, "You are there.");
  await client.agrees();
}

/** The same, with a reload in between: the SDK's predicates decide what it sends. */
async function oneOfTwoAfterAReload({ open }) {
  const before = open();
  await before.say("where twice");
  await before.decide(before.tools[0], false, "no");
  await before.decide(before.tools[1], true);
  await before.rests({ sends: 2 });
  const messages = await before.history();
  await before.close();
  const after = open({ messages });
  await after.output(after.tools[1], HERE);
  await after.rests({ sends: 1 });
  assert.deepEqual(after.states, ["get_location output-denied", "get_location output-available"]);
  assert.equal(after.text, "You are there.");
  await after.agrees();
}

/** Nobody answers while the response is open: the turn ends on its own. */
async function timeoutWhileOpen({ open, ack }) {
  const client = open({ wait: "stream" });
  await client.say("open slowly");
  await client.rests({ sends: 1 });
  assert.equal(client.tool("open-url").output.status, "timeout");
  assert.equal(client.text, "It took too long.");
  isRefused(await ack(client.toolCalls[0], { output: {} }), 410, "expired");
  await client.agrees();
  assert.equal((await client.hold(client.tool("open-url"))).outcome.cause, "expired");
}

async function timeoutIsAnError({ open }) {
  const client = open({ wait: "stream" });
  await client.say("quick photo");
  await client.rests({ sends: 1 });
  const { state, errorText } = client.tool("take_quick_photo");
  assert.equal(state, "output-error");
  assert.ok(errorText);
  assert.equal(client.text, "No photo.");
  await client.agrees();
}

/**
 * The result arrives too late, in the client's next request: the response has the outcome in force, and the turn
 * continues.
 */
async function timeoutBeforeTheResubmit({ open, api }) {
  const client = open();
  await client.say("quick photo");
  await client.rests({ sends: 1 });
  await client.until("the call has expired", async () => {
    const [, answer] = (await api(`/api/chat/${client.id}/messages`)).body;
    return answer.parts.find(isTool).state === "output-error";
  });
  await client.chat.resumeStream();
  await client.rests({ sends: 1, resumes: 1 });
  await client.output(client.tool("take_quick_photo"), PHOTO);
  await client.rests({ sends: 2, resumes: 1 });
  assert.equal(client.tool("take_quick_photo").state, "output-error");
  assert.equal(client.text, "No photo.");
  assert.ok(client.answer);
  await client.agrees();
}

/** A timeout reported by the browser counts as an expiry. */
async function timeoutToldByTheBrowser({ open, ack }) {
  const client = open({ wait: "stream" });
  const said = client.say("open");
  await ack(await firstCall(client), { status: "timeout" });
  await said;
  await client.rests({ sends: 1 });
  assert.equal(client.tool("open-url").output.status, "timeout");
  assert.equal(client.text, "It is open.");
  await client.agrees();
  assert.equal((await client.hold(client.tool("open-url"))).outcome.cause, "expired");
}

play(
  "frontend tools with approvals and deadlines",
  {
    "approval, by ack": byAck,
    "approval, by resubmit": byResubmit(locatesWhenApproved),
    "approval, by resubmit, run whenever announced": byResubmit(locates),
    "approval denied, by ack": denied({ wait: "stream" }),
    "approval denied, by resubmit": denied(),
    "failed after the approval": failedAfterTheApproval,
    "reload before the approval": reloadBeforeTheApproval,
    "reload between approval and result": reloadAfterTheApproval,
    "approved in the inbox": approvedInTheInbox,
    "resumed after the approval": resumedAfterTheApproval,
    "one of two approved": oneOfTwo,
    "one of two approved, after a reload": oneOfTwoAfterAReload,
    "timeout while the response is open": timeoutWhileOpen,
    "timeout is an error": timeoutIsAnError,
    "timeout before the resubmit": timeoutBeforeTheResubmit,
    "timeout told by the browser": timeoutToldByTheBrowser,
  },
  { config },
);
