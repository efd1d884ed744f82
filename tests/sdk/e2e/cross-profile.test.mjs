// The same chat in both profiles: started on `/live`, answered elsewhere, read and continued by a stock client.

import assert from "node:assert/strict";
import { play } from "./support/play.mjs";
import { isTool } from "./support/record.mjs";
import { until } from "./support/wait.mjs";

const user = (text) => ({ id: `user-${text}`, role: "user", parts: [{ type: "text", text }] });

/** A connection to `/live`; its stream is checked against the rules of its own profile. */
async function live({ server, newTab, chatId }) {
  const tab = newTab("adk-live");
  const Socket = tab.webSocket();
  const socket = new Socket(`${server.url.replace(/^http/, "ws")}/live?id=${chatId}`);
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  const isDone = () => tab.lines.some(({ frame }) => frame === "data: [DONE]\n\n");
  return {
    say: (text) => socket.send(JSON.stringify({ type: "message", messages: [user(text)] })),
    chunk: (type) => until(`there is ${type}`, () => tab.chunks.find((chunk) => chunk.type === type)),
    done: () => until("the turn is over", isDone),
    close: () =>
      new Promise((resolve) => {
        socket.once("close", resolve).close();
      }),
  };
}

async function answeredInTheInbox(play) {
  const connection = await live(play);
  connection.say("pay Ann");
  const { approvalId, toolCallId } = await connection.chunk("tool-approval-request");
  const { body: inbox } = await play.api("/api/approvals");
  const { expiresAt, requestedAt, ...held } = inbox.find((item) => item.approvalId === approvalId);
  assert.equal(held.chatId, play.chatId);
  assert.deepEqual([held.toolCallId, held.toolName, held.input.amount], [toolCallId, "process_payment", 30]);
  assert.deepEqual(await play.api(`/api/approvals/${approvalId}`, { body: { approved: true } }), {
    status: 200,
    body: { ok: true },
  });
  await connection.done();
  await connection.close();

  const client = play.open();
  client.chat.messages = await client.history();
  assert.equal(client.tool("process_payment").output.wallet_balance, 970);
  assert.match(client.text, /That is settled\./);
  assert.ok(client.answer);
  await client.say("pay Ann");
  await client.decide(client.tool("process_payment"), true);
  await client.rests({ sends: 2 });
  assert.equal(client.tool("process_payment").output.wallet_balance, 940);
  assert.ok(client.answer);
  await client.agrees();
}

/** The page with `/live` is gone; a stock client finds the approval request in the history and answers it. */
async function answeredByAStockClient(play) {
  const connection = await live(play);
  connection.say("pay Ann");
  await connection.chunk("tool-approval-request");
  await connection.close();

  const client = play.open();
  client.chat.messages = await client.history();
  assert.deepEqual(client.states, ["process_payment approval-requested"]);
  await client.decide(client.tool("process_payment"), false, "no");
  await client.rests({ sends: 1 });
  assert.deepEqual(client.states, ["process_payment output-denied"]);
  assert.equal(client.text, "That is settled.");
  assert.ok(client.answer);

  // Text that `/live` held back precedes the call: a client that has the call gets it with the next load.
  client.chat.messages = await client.history();
  assert.equal(client.text, "One moment.That is settled.");
  await client.say("hello");
  await client.rests({ sends: 2 });
  assert.ok(client.answer);
  await client.agrees();
}

/** `/live` asks for one approval at a time; both requests end up in one step of the history. */
async function parallelOnLive(play) {
  const connection = await live(play);
  connection.say("pay both");
  await connection.chunk("tool-approval-request");
  await connection.close();

  const client = play.open();
  client.chat.messages = await client.history();
  await client.decide(
    client.tools.find(({ state }) => state === "approval-requested"),
    true,
  );
  await client.idle();
  await client.decide(
    client.tools.find(({ state }) => state === "approval-requested"),
    true,
  );
  await client.rests({ sends: 2 });
  assert.deepEqual(client.states, ["process_payment output-available", "process_payment output-available"]);
  assert.equal(client.tools[1].output.wallet_balance, 970);
  assert.ok(client.answer);
}

/** The other way round: started by a stock client, watched on `/live`. */
async function askedByAStockClient(play) {
  const client = play.open();
  await client.say("pay Ann");
  const connection = await live(play);
  await connection.chunk("tool-approval-request");
  await client.decide(client.tool("process_payment"), true);
  await client.rests({ sends: 2 });
  await connection.done();
  await connection.close();
  assert.ok(client.answer);
  const [kept] = (await client.history()).at(-1).parts.filter(isTool);
  assert.equal(kept.output.wallet_balance, 970);
  await client.agrees();
}

play("both profiles, one chat", {
  "asked on live, answered in the inbox, continued by a stock client": answeredInTheInbox,
  "asked on live, answered by a stock client": answeredByAStockClient,
  "two asked on live, answered by a stock client": parallelOnLive,
  "asked by a stock client, watched on live": askedByAStockClient,
});
