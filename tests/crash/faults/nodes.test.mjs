// Two nodes, without faults: one runs a call while a decision on another call arrives at the other one.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Ledger } from "../ledger.mjs";
import { Cluster } from "../nodes/cluster.mjs";
import { Random } from "../random.mjs";
import { pause, until } from "../wait.mjs";

const RUNS_MS = 60;
/** Each time the decision arrives a little later, from before the end of the call to after it. */
const TIMES = 60;
const SETTLES_WITHIN_MS = 10_000;

const call = (ref) => ({ toolCall: { name: "transfer", input: { ref, amount: 1 } } });
const steps = [[call("first"), call("second")], [{ text: ["Done."] }]];
const script = { modelVersion: "played", turns: [{ when: "^go", steps }] };

let cluster;
const ledger = new Ledger(() => RUNS_MS);
const seen = [];

async function json(url, body) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, body && { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return response.headers.get("content-type").includes("json") ? JSON.parse(text) : text;
}

const holdsOf = async ({ url }, id) => {
  const holds = await json(`${url}/api/chat/${id}/holds?calls=all`);
  return Object.fromEntries(holds.map((hold) => [hold.input.ref, hold]));
};

before(async () => {
  const url = await ledger.open();
  cluster = await Cluster.prepare(url, { count: 2, script, random: new Random(1, "nodes"), isIdempotent: false });
  await cluster.start();
  const [owner, other] = cluster.nodes;
  for (let at = 0; at < TIMES; at += 1) {
    const id = `chat-${at}`;
    const message = { id: `user-${at}`, role: "user", parts: [{ type: "text", text: "go" }] };
    await json(`${owner.url}/api/chat`, { id, trigger: "submit-message", messages: [message] });
    const { first, second } = await holdsOf(other, id);
    await json(`${owner.url}/api/approvals/${second.approvalId}`, { approved: true });
    await pause(RUNS_MS - 20 + 2 * (at % 20));
    await json(`${other.url}/api/approvals/${first.approvalId}`, { approved: true });
    const reads = [owner, other].map(async (node) => {
      const { first } = await holdsOf(node, id);
      return { state: first.state, decision: first.decision?.kind };
    });
    seen.push({ id, views: await Promise.all(reads) });
  }
});

after(async () => {
  await cluster?.remove();
  await ledger.close();
});

test("a decision that another node has taken while a call ends is carried out", async () => {
  const stuck = async () => {
    const holds = await Promise.all(seen.map(({ id }) => holdsOf(cluster.nodes[0], id)));
    return holds.filter(({ first }) => first.state !== "settled").map(({ first }) => first);
  };
  await until(async () => (await stuck()).length === 0, { within: SETTLES_WITHIN_MS, every: 500 });
  assert.deepEqual(await stuck(), []);
});

test("every node shows a decision that one of them has acknowledged", () => {
  const late = seen.filter(({ views }) => views.some(({ decision }) => decision !== "approve"));
  assert.deepEqual(late, []);
});

test("no node shows a call as waiting once it is decided", () => {
  const waiting = seen.filter(({ views }) => views.some(({ state }) => state === "waiting"));
  assert.deepEqual(waiting, []);
});
