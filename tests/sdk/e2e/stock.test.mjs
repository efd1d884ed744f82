// Browser tools as in the SDK's own examples: `onToolCall`, `addToolOutput`, both predicates; no header, no ack,
// nothing of ours.

import assert from "node:assert/strict";
import { config, HERE, locates, PHOTO, takesPhotos } from "./support/browser.mjs";
import { play } from "./support/play.mjs";
import { settledOf, summary } from "./support/record.mjs";
import { WAIT } from "./support/transport.mjs";

const runsBoth = (call, client) => {
  takesPhotos(call, client);
  locates(call, client);
};

const causes = async (client) => {
  const { parts } = (await client.history()).at(-1);
  return parts.flatMap((part) => settledOf(part)?.cause ?? []);
};

async function one({ open }) {
  const client = open({ onToolCall: runsBoth });
  await client.say("photo");
  await client.rests({ sends: 2 });
  assert.deepEqual(client.tool("take_photo").output, PHOTO);
  assert.equal(client.text, "Nice photo.");
  assert.equal(client.toolCalls.length, 1);
  assert.ok(client.answer);
  await client.agrees();
  assert.deepEqual(summary(await client.hold(client.tool("take_photo"))), {
    kind: "frontend",
    state: "settled",
    cause: "result",
    cut: false,
  });
}

/** The SDK's examples await the browser before they add the output: the response has ended by then. */
async function aSlowOne({ open }) {
  let taken;
  const camera = new Promise((resolve) => {
    taken = resolve;
  });
  const client = open({
    onToolCall: async (call, client) => {
      await camera;
      takesPhotos(call, client);
    },
  });
  await client.say("photo");
  await client.rests({ sends: 1 });
  assert.deepEqual(client.states, ["take_photo input-available"]);
  taken();
  await client.until("it is sent", () => client.sends === 2);
  await client.rests({ sends: 2 });
  assert.equal(client.text, "Nice photo.");
  await client.agrees();
}

async function inParallel({ open }) {
  const client = open({ onToolCall: runsBoth });
  await client.say("photo twice");
  await client.rests({ sends: 2 });
  assert.deepEqual(client.states, ["take_photo output-available", "take_photo output-available"]);
  assert.equal(client.toolCalls.length, 2);
  assert.equal(client.text, "Two photos.");
  assert.ok(client.answer);
  await client.agrees();
}

async function inARow({ open }) {
  const client = open({ onToolCall: runsBoth });
  await client.say("photo, then photo");
  await client.rests({ sends: 3 });
  assert.deepEqual(client.states, ["take_photo output-available", "take_photo output-available"]);
  assert.equal(client.toolCalls.length, 2);
  assert.equal(client.text, "Again.Two photos.");
  assert.ok(client.answer);
  await client.agrees();
}

/** The client keeps the browser's result until the person has decided; both go in one request. */
async function besideAnApproval({ open }) {
  const client = open({ onToolCall: runsBoth });
  await client.say("photo and pay");
  await client.rests({ sends: 1 });
  assert.deepEqual(client.states, ["take_photo output-available", "process_payment approval-requested"]);
  await client.decide(client.tool("process_payment"), true);
  await client.rests({ sends: 2 });
  assert.deepEqual(client.states, ["take_photo output-available", "process_payment output-available"]);
  assert.equal(client.tool("process_payment").output.wallet_balance, 970);
  assert.equal(client.text, "Seen and settled.");
  assert.ok(client.answer);
  await client.agrees();
  assert.deepEqual(await causes(client), ["result", "ran"]);
}

async function besideADenial({ open }) {
  const client = open({ onToolCall: runsBoth });
  await client.say("photo and pay");
  await client.decide(client.tool("process_payment"), false, "no");
  await client.rests({ sends: 2 });
  assert.deepEqual(client.states, ["take_photo output-available", "process_payment output-denied"]);
  assert.equal(client.text, "Seen and settled.");
  assert.ok(client.answer);
  await client.agrees();
  assert.deepEqual(await causes(client), ["result", "decision"]);
}

/** The person is faster than the browser: the photo is taken by hand, after the decision. */
async function answeredFirst({ open }) {
  const client = open();
  await client.say("photo and pay");
  await client.decide(client.tool("process_payment"), true);
  await client.rests({ sends: 1 });
  await client.output(client.tool("take_photo"), PHOTO);
  await client.rests({ sends: 2 });
  assert.deepEqual(client.states, ["take_photo output-available", "process_payment output-available"]);
  assert.equal(client.tool("process_payment").output.wallet_balance, 970);
  assert.ok(client.answer);
  await client.agrees();
}

/** Both need an approval; the browser runs its call after both decisions. */
async function bothAskedAbout({ open }) {
  const client = open({ onToolCall: runsBoth });
  await client.say("where and pay");
  await client.rests({ sends: 1 });
  // The server's call is sent before its approval, as always; the browser's is not.
  assert.deepEqual(client.toolCalls, [client.tool("process_payment").toolCallId]);
  await client.decide(client.tool("get_location"), true);
  await client.rests({ sends: 1 });
  await client.decide(client.tool("process_payment"), true);
  await client.rests({ sends: 3 });
  assert.deepEqual(client.states, ["get_location output-available", "process_payment output-available"]);
  assert.deepEqual(client.tool("get_location").output, HERE);
  assert.equal(client.tool("process_payment").output.wallet_balance, 970);
  assert.equal(client.text, "Found and settled.");
  assert.equal(client.toolCalls.length, 2);
  assert.ok(client.answer);
  await client.agrees();
  assert.deepEqual(await causes(client), ["result", "ran"]);
}

async function browsersDenied({ open }) {
  const client = open({ onToolCall: runsBoth });
  await client.say("where and pay");
  await client.decide(client.tool("get_location"), false);
  await client.decide(client.tool("process_payment"), true);
  await client.rests({ sends: 2 });
  assert.deepEqual(client.states, ["get_location output-denied", "process_payment output-available"]);
  assert.deepEqual(client.toolCalls, [client.tool("process_payment").toolCallId]);
  assert.equal(client.text, "Found and settled.");
  assert.ok(client.answer);
  await client.agrees();
  assert.deepEqual(await causes(client), ["decision", "ran"]);
}

async function serversDenied({ open }) {
  const client = open({ onToolCall: runsBoth });
  await client.say("where and pay");
  await client.decide(client.tool("get_location"), true);
  await client.decide(client.tool("process_payment"), false);
  await client.rests({ sends: 3 });
  assert.deepEqual(client.states, ["get_location output-available", "process_payment output-denied"]);
  assert.deepEqual(client.tool("get_location").output, HERE);
  assert.equal(client.text, "Found and settled.");
  assert.ok(client.answer);
  await client.agrees();
  assert.deepEqual(await causes(client), ["result", "decision"]);
}

/** The default can be requested by name, in a header, on either transport; so can the other value. */
async function askedForByName({ open, ack, chatId }) {
  const client = open({ headers: { [WAIT]: "resubmit" }, onToolCall: runsBoth });
  await client.say("photo");
  await client.rests({ sends: 2 });
  assert.equal(client.text, "Nice photo.");

  const other = open({ id: `${chatId}-other`, headers: { [WAIT]: "stream" } });
  const said = other.say("photo");
  await other.until("the browser is asked", () => other.toolCalls.length === 1);
  await ack(other.toolCalls[0], { output: PHOTO });
  await said;
  await other.rests({ sends: 1 });
  assert.equal(other.text, "Nice photo.");
  for (const each of [client, other]) await each.agrees();
}

play(
  "browser tools with nothing of ours",
  {
    one,
    "a slow one": aSlowOne,
    "two in parallel": inParallel,
    "two in a row": inARow,
    "beside a server's call that is approved": besideAnApproval,
    "beside a server's call that is denied": besideADenial,
    "beside a server's call, answered first": answeredFirst,
    "both need approval": bothAskedAbout,
    "both need approval, the browser's denied": browsersDenied,
    "both need approval, the server's denied": serversDenied,
    "the wait asked for by name": askedForByName,
  },
  { config },
);
