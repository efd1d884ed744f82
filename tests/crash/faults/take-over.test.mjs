// A node dies while it runs many turns, and two others take them over at the same moment. Each turn is taken over once.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Ledger } from "../ledger.mjs";
import { Cluster } from "../nodes/cluster.mjs";
import { Random } from "../random.mjs";
import { pause, until } from "../wait.mjs";

const CHATS = 40;
const WITHIN_MS = 20_000;

const ids = Array.from({ length: CHATS }, (_, at) => `chat-${at}`);
const turn = (id) => ({
  when: `^${id}: `,
  steps: [
    [{ waitMs: 1500 }, { toolCall: { name: "transfer", input: { ref: id, amount: 1 } } }],
    [{ waitMs: 300 }, { text: ["Done."] }],
  ],
});

let cluster;
const ledger = new Ledger(() => 20);

const headers = { "content-type": "application/json" };
const post = (node, path, body) => fetch(`${node.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
const get = async (node, path) => (await fetch(`${node.url}${path}`)).json();

/** The response of the killed node breaks off. */
async function ask(node, id) {
  const messages = [{ id: `user-${id}`, role: "user", parts: [{ type: "text", text: `${id}: go` }] }];
  const response = await post(node, "/api/chat", { id, trigger: "submit-message", messages });
  response.text().catch(() => "");
}

const countOf = (lines, fact) => lines.join("\n").split(`{"fact":"${fact}"`).length - 1;

before(async () => {
  const script = { modelVersion: "played", turns: ids.map(turn) };
  const random = new Random(1, "take-over");
  cluster = await Cluster.prepare(await ledger.open(), { count: 3, script, random, isIdempotent: false });
  await cluster.start();
  // A node takes over only after its own lease has been valid for a while.
  await pause(1500);
  const [dead, one, other] = cluster.nodes;
  await Promise.all(ids.map((id) => ask(dead, id)));
  dead.kill();
  const asked = await until(
    async () => {
      const inbox = await get(one, "/api/approvals");
      return inbox.length >= CHATS && inbox;
    },
    { within: WITHIN_MS, every: 100 },
  );
  // Requests of a second take-over would come later.
  await pause(2500);
  const nodes = [one, other];
  await Promise.all(
    (asked ?? []).map(({ approvalId }, at) => post(nodes[at % 2], `/api/approvals/${approvalId}`, { approved: true })),
  );
  const isOver = async () => (await get(one, "/api/chats")).every(({ isRunning, holds }) => !isRunning && holds === 0);
  await until(isOver, { within: WITHIN_MS, every: 100 });
});

after(async () => {
  await cluster?.remove();
  await ledger.close();
});

test("the step that was cut off is run again once", async () => {
  const again = [];
  for (const id of ids) {
    const lines = await cluster.factsOf(id);
    const counts = { abandoned: countOf(lines, "step-abandoned"), calls: countOf(lines, "called") };
    if (counts.abandoned !== 1 || counts.calls !== 1) again.push({ id, ...counts, lines });
  }
  assert.deepEqual(again, []);
});

test("every turn ends, and its call is carried out once", async () => {
  const strange = [];
  for (const id of ids) {
    const messages = await get(cluster.nodes[1], `/api/chat/${id}/messages`);
    const words = messages.at(-1)?.parts.at(-1)?.text;
    const deliveries = ledger.of(id).length;
    if (words !== "Done." || deliveries !== 1) strange.push({ id, words, deliveries });
  }
  assert.deepEqual(strange, []);
  assert.deepEqual(await get(cluster.nodes[2], "/api/approvals"), []);
});
