// Calls that the browser runs after somebody has agreed, and calls for which no result comes in time.

import assert from "node:assert/strict";
import { config, firstCall, headers, PHOTO } from "./support/browser.mjs";
import { play } from "./support/play.mjs";
import { isTool } from "./support/record.mjs";

const HERE = { latitude: 35, longitude: 135.7, accuracy: 10 };

/** Runs the call as soon as it is approved: the first announcement comes before the question. */
const locatesWhenApproved = ({ toolName, toolCallId }, { chat }) => {
  const part = chat.lastMessage.parts.find((part) => isTool(part) && part.toolCallId === toolCallId);
  if (toolName === "get_location" && part.approval?.approved) {
    chat.addToolOutput({ tool: toolName, toolCallId, output: HERE });
  }
};

/** Runs the call whenever it is announced, as the SDK's examples do. */
const locatesAtOnce = ({ toolName, toolCallId }, { chat }) => {
  if (toolName === "get_location") chat.addToolOutput({ tool: toolName, toolCallId, output: HERE });
};

const located = (client) => {
  const { state, output } = client.tool("get_location");
  assert.deepEqual({ state, output }, { state: "output-available", output: HERE });
  assert.equal(client.text, "You are there.");
  assert.ok(client.answer);
};

async function byAck({ open, ack }) {
  const client = open();
  await client.say("where");
  const asked = client.tool("get_location");
  assert.deepEqual(await ack(asked.toolCallId, { output: HERE }), {
    status: 409,
    body: { ok: false, reason: "approval-required" },
  });
  await client.decide(asked, true);
  await client.until("the browser may run it", () => client.sends === 2);
  await client.until("its result is taken", async () => {
    const { status } = await ack(asked.toolCallId, { output: HERE });
    return status === 200;
  });
  await client.rests({ sends: 2 });
  located(client);
  await client.agrees();
}

async function byResubmit({ open }) {
  const client = open({ headers, onToolCall: locatesWhenApproved });
  await client.say("where");
  await client.rests({ sends: 1 });
  await client.decide(client.tool("get_location"), true);
  await client.rests({ sends: 3 });
  located(client);
  assert.equal(client.toolCalls.length, 2, "announced once before and once after the approval");
  await client.agrees();
}

/** Its first output is thrown away by the SDK itself when the question comes; the second one counts. */
async function byResubmitAtOnce({ open }) {
  const client = open({ headers, onToolCall: locatesAtOnce });
  await client.say("where");
  await client.rests({ sends: 1 });
  assert.deepEqual(client.states, ["get_location approval-requested"]);
  await client.decide(client.tool("get_location"), true);
  await client.rests({ sends: 3 });
  located(client);
  await client.agrees();
}

async function deniedByResubmit({ open }) {
  const client = open({ headers, onToolCall: locatesWhenApproved });
  await client.say("where");
  await client.decide(client.tool("get_location"), false);
  await client.rests({ sends: 2 });
  assert.deepEqual(client.states, ["get_location output-denied"]);
  assert.equal(client.text, "You are there.");
  await client.agrees();
}

async function reloadAfterTheApproval({ open }) {
  const before = open({ headers });
  await before.say("where");
  await before.decide(before.tool("get_location"), true);
  await before.rests({ sends: 2 });
  const messages = await before.history();
  await before.close();
  const after = open({ headers, messages });
  await after.output(after.tool("get_location"), HERE);
  await after.rests({ sends: 1 });
  located(after);
  await after.agrees();
}

/** Nobody answers while the response is open: the turn ends by itself. */
async function timeoutWhileOpen({ open, ack }) {
  const client = open();
  await client.say("open slowly");
  await client.rests({ sends: 1 });
  assert.equal(client.tool("open-url").output.status, "timeout");
  assert.equal(client.text, "It took too long.");
  assert.deepEqual(await ack(client.toolCalls[0], { output: {} }), {
    status: 410,
    body: { ok: false, reason: "expired" },
  });
  await client.agrees();
}

async function timeoutIsAnError({ open }) {
  const client = open();
  await client.say("quick photo");
  await client.rests({ sends: 1 });
  const { state, errorText } = client.tool("take_quick_photo");
  assert.equal(state, "output-error");
  assert.ok(errorText);
  assert.equal(client.text, "No photo.");
  await client.agrees();
}

/** The result comes too late, in the client's next request: the answer is the outcome that stands, and the turn goes on. */
async function timeoutBeforeTheResubmit({ open, api }) {
  const client = open({ headers });
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

/** What a browser says of itself counts as no answer in time. */
async function timeoutToldByTheBrowser({ open, ack }) {
  const client = open();
  const said = client.say("open");
  await ack(await firstCall(client), { status: "timeout" });
  await said;
  await client.rests({ sends: 1 });
  assert.equal(client.tool("open-url").output.status, "timeout");
  assert.equal(client.text, "It is open.");
  await client.agrees();
}

play(
  "frontend tools with approvals and deadlines",
  {
    "approval, by ack": byAck,
    "approval, by resubmit": byResubmit,
    "approval, by resubmit, run whenever announced": byResubmitAtOnce,
    "approval denied, by resubmit": deniedByResubmit,
    "reload between approval and result": reloadAfterTheApproval,
    "timeout while the response is open": timeoutWhileOpen,
    "timeout is an error": timeoutIsAnError,
    "timeout before the resubmit": timeoutBeforeTheResubmit,
    "timeout told by the browser": timeoutToldByTheBrowser,
  },
  { config },
);
