// What a client changes in its history, and what the server keeps.

import assert from "node:assert/strict";
import { play } from "./support/play.mjs";

const PIXEL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const image = { type: "file", mediaType: "image/png", filename: "pixel.png", url: PIXEL };

async function regenerate({ open }) {
  const client = open();
  await client.say("hello");
  const first = client.answer.id;
  await client.chat.regenerate();
  await client.rests({ sends: 2 });
  assert.notEqual(client.answer.id, first);
  assert.equal(client.text, "Hello to you.");
  await client.agrees();
}

/** A new approval request is made, with a new id; the old one is closed. */
async function regenerateOverAnApproval({ open, api }) {
  const client = open();
  await client.say("pay Ann");
  const asked = client.tool("process_payment").approval.id;
  await client.chat.regenerate();
  assert.notEqual(client.tool("process_payment").approval.id, asked);
  assert.equal((await api(`/api/approvals/${asked}`, { body: { approved: true } })).status, 410);
  await client.decide(client.tool("process_payment"), true);
  await client.rests({ sends: 3 });
  assert.equal(client.tool("process_payment").output.wallet_balance, 970);
  assert.ok(client.answer);
  await client.agrees();
}

async function regenerateAnEarlierAnswer({ open }) {
  const client = open();
  await client.say("hello");
  const first = client.answer.id;
  await client.say("weather");
  await client.chat.regenerate({ messageId: first });
  await client.rests({ sends: 3 });
  assert.equal(client.messages.length, 2);
  assert.notEqual(client.answer.id, first);
  await client.agrees();
}

async function edit({ open }) {
  const client = open();
  await client.say("hello");
  await client.say("pay Ann");
  const [{ id }] = client.messages;
  await client.chat.sendMessage({ text: "weather", messageId: id });
  await client.rests({ sends: 3 });
  assert.equal(client.messages.length, 2);
  assert.equal(client.messages[0].parts[0].text, "weather");
  assert.equal(client.text, "It is fine.");
  assert.ok(client.answer);
  await client.agrees();
}

async function files({ open }) {
  const client = open();
  await client.chat.sendMessage({ text: "hello", files: [image] });
  await client.chat.sendMessage({ files: [image] });
  await client.rests({ sends: 2 });
  assert.deepEqual(client.messages[0].parts, [image, { type: "text", text: "hello" }]);
  assert.ok(client.text);
  await client.agrees();
}

async function metadata({ open }) {
  const client = open();
  await client.chat.sendMessage({ text: "hello", metadata: { mood: "good" } });
  await client.rests({ sends: 1 });
  assert.equal(client.answer.metadata.modelVersion, "played");
  assert.deepEqual(client.answer.metadata.usage, { promptTokens: 3, completionTokens: 4, totalTokens: 7 });
  const [said, answer] = await client.history();
  assert.deepEqual(said.metadata, { mood: "good" });
  assert.deepEqual(answer.metadata, client.answer.metadata);
  await client.agrees();
}

/** A network retry, or a double click: one message, one turn, and every request gets the answer. */
async function sentTwice({ server, newTab, open, chatId }) {
  const message = { id: "user-1", role: "user", parts: [{ type: "text", text: "pay Ann" }] };
  const post = async () => {
    const tab = newTab();
    const response = await tab.fetch(`${server.url}/api/chat`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ id: chatId, messages: [message], trigger: "submit-message" }),
    });
    await response.text();
    return tab.chunks;
  };
  const [one, two] = await Promise.all([post(), post()]);
  assert.deepEqual(one, two);
  const client = open();
  client.chat.messages = await client.history();
  assert.equal(client.messages.length, 2);
  await client.decide(client.tool("process_payment"), true);
  await client.rests({ sends: 1 });
  assert.equal(client.tool("process_payment").output.wallet_balance, 970);
  await client.agrees();
}

async function modelFailure({ open }) {
  const client = open();
  await client.say("fail");
  await client.rests({ sends: 1, error: /^The model failed/ });
  assert.equal(client.text, "This goes well until ");
  await client.say("hello");
  await client.rests({ sends: 2 });
  assert.equal(client.text, "Hello to you.");
  assert.ok(client.answer);

  // The failed message can be retried, as with a retry button.
  await client.say("fail");
  await client.chat.regenerate();
  await client.rests({ sends: 4, error: /^The model failed/ });
  assert.equal(client.messages.length, 6);
  const kept = await client.history();
  assert.equal(kept.length, 6);
  assert.equal(kept.at(-1).parts.find(({ type }) => type === "text").text, "This goes well until ");
}

async function listAndDelete({ open, api, chatId }) {
  const client = open();
  const other = open({ id: `${chatId}-other` });
  await client.say("pay Ann");
  await other.say("hello");
  await client.rests({ sends: 1 });
  const listed = async () => (await api("/api/chats")).body.find(({ id }) => id === chatId);
  const { title, holds, isRunning } = await listed();
  assert.deepEqual({ title, holds, isRunning }, { title: "pay Ann", holds: 1, isRunning: false });

  const { approval } = client.tool("process_payment");
  assert.equal((await api(`/api/chat/${chatId}`, { method: "DELETE" })).status, 204);
  assert.equal(await listed(), undefined);
  assert.equal((await api(`/api/chat/${chatId}/messages`)).status, 404);
  assert.equal((await api(`/api/chat/${chatId}`, { method: "DELETE" })).status, 404);
  const answered = await api(`/api/approvals/${approval.id}`, { body: { approved: true } });
  assert.ok([404, 410].includes(answered.status), `${answered.status}`);
  await other.say("weather");
  await other.rests({ sends: 2 });
  await other.agrees();
}

play("history", {
  regenerate,
  "regenerate over an approval": regenerateOverAnApproval,
  "regenerate an earlier answer": regenerateAnEarlierAnswer,
  edit,
  "files in user messages": files,
  metadata,
  "the same message sent twice": sentTwice,
  "model failure, then go on": modelFailure,
  "list and delete": listAndDelete,
});
