// Calls that the browser runs: the result arrives by ack while the response is open, or in the client's next request.

import assert from "node:assert/strict";
import { config, firstCall, PHOTO, takesPhotos } from "./support/browser.mjs";
import { play } from "./support/play.mjs";

async function byAck({ open, ack }) {
  const client = open({ wait: "stream" });
  const said = client.say("photo");
  const call = await firstCall(client);
  assert.deepEqual(await ack(call, { output: PHOTO }), { status: 200, body: { ok: true } });
  await said;
  await client.rests({ sends: 1 });
  assert.deepEqual(client.tool("take_photo").output, PHOTO);
  assert.equal(client.text, "Nice photo.");
  assert.ok(client.answer);
  await client.agrees();
  assert.deepEqual(await ack(call, { output: PHOTO }), { status: 200, body: { ok: true, ignored: true } });
  assert.equal((await ack(call, { output: {} })).status, 409);
}

async function ackIsTheOutput({ open, ack }) {
  const client = open({ wait: "stream" });
  const said = client.say("open");
  const output = { url: "https://example.com/", viewKey: "v1" };
  const call = await firstCall(client);
  await ack(call, { output });
  await said;
  await client.rests({ sends: 1 });
  const { toolCallId, status, output: shown } = client.tool("open-url").output;
  assert.deepEqual({ toolCallId, status, output: shown }, { toolCallId: call, status: "success", output });
  await client.agrees();
}

async function failedByAck({ open, ack }) {
  const client = open({ wait: "stream" });
  const said = client.say("photo");
  await ack(await firstCall(client), { status: "failed", errorText: "no camera" });
  await said;
  await client.rests({ sends: 1 });
  const { state, errorText } = client.tool("take_photo");
  assert.deepEqual({ state, errorText }, { state: "output-error", errorText: "no camera" });
  assert.equal(client.text, "Nice photo.");
  await client.agrees();
}

/** Without `onToolCall`: the user clicks something in the tool's card, after the response has ended. */
async function byResubmitLater({ open }) {
  const client = open();
  await client.say("photo");
  await client.rests({ sends: 1 });
  assert.deepEqual(client.states, ["take_photo input-available"]);
  await client.agrees();
  await client.output(client.tool("take_photo"), PHOTO);
  await client.rests({ sends: 2 });
  assert.deepEqual(client.tool("take_photo").output, PHOTO);
  assert.ok(client.answer);
  await client.agrees();
}

async function reloadBeforeResubmit({ open }) {
  const before = open();
  await before.say("photo");
  await before.rests({ sends: 1 });
  const messages = await before.history();
  await before.close();
  const after = open({ messages });
  await after.output(after.tool("take_photo"), PHOTO);
  await after.rests({ sends: 1 });
  assert.deepEqual(after.tool("take_photo").output, PHOTO);
  assert.equal(after.text, "Nice photo.");
  await after.agrees();
}

async function failedByResubmit({ open }) {
  const client = open();
  await client.say("photo");
  const { toolCallId } = client.tool("take_photo");
  await client.chat.addToolOutput({ tool: "take_photo", toolCallId, state: "output-error", errorText: "no camera" });
  await client.rests({ sends: 2 });
  assert.equal(client.tool("take_photo").errorText, "no camera");
  assert.equal(client.text, "Nice photo.");
  await client.agrees();
}

async function besideAServerTool({ open }) {
  const client = open({ onToolCall: takesPhotos });
  await client.say("photo and weather");
  await client.rests({ sends: 2 });
  assert.deepEqual(client.states, ["take_photo output-available", "get_weather output-available"]);
  assert.equal(client.text, "A fine photo.");
  assert.ok(client.answer);
  await client.agrees();
}

async function twoByResubmit({ open }) {
  const client = open();
  await client.say("open two");
  const [a, b] = client.tools;
  await client.output(b, { url: b.input.url, viewKey: "b" });
  await client.rests({ sends: 1 });
  await client.output(a, { url: a.input.url, viewKey: "a" });
  await client.rests({ sends: 2 });
  assert.deepEqual(
    client.tools.map(({ output }) => output.output.viewKey),
    ["a", "b"],
  );
  assert.equal(client.text, "Both are open.");
  await client.agrees();
}

play(
  "frontend tools",
  {
    "by ack": byAck,
    "the ack is the output": ackIsTheOutput,
    "failed, by ack": failedByAck,
    "by resubmit, later": byResubmitLater,
    "reload before the resubmit": reloadBeforeResubmit,
    "failed, by resubmit": failedByResubmit,
    "beside a server tool": besideAServerTool,
    "two, by resubmit": twoByResubmit,
  },
  { config },
);
