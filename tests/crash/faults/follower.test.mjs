// A node dies while it writes, and stock clients of both versions of the SDK follow the turn from another node. They end up
// with each word once, and the turn is taken over within the time that the settings promise.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as ai6 from "ai6";
import * as ai7 from "ai7";
import { PlainState } from "../../sdk/e2e/support/state.mjs";
import { Ledger } from "../ledger.mjs";
import { Cluster } from "../nodes/cluster.mjs";
import { Random } from "../random.mjs";
import { pause, until } from "../wait.mjs";

const LEASE_MS = 3000;
const TIMES = 3;
const ENDS_WITHIN_MS = 20_000;

const words = Array.from({ length: 30 }, (_, word) => [{ text: [`word-${word} `] }, { waitMs: 100 }]).flat();
const script = { modelVersion: "played", turns: [{ when: "^go", steps: [words] }] };

const ledger = new Ledger(() => 0);
let cluster;

before(async () => {
  const random = new Random(1, "follower");
  const options = { count: 3, script, random, isIdempotent: false, leaseMs: LEASE_MS };
  cluster = await Cluster.prepare(await ledger.open(), options);
  await cluster.start();
});

after(async () => {
  await cluster?.remove();
  await ledger.close();
});

const textOf = (chat) =>
  chat.messages
    .filter(({ role }) => role === "assistant")
    .flatMap(({ parts }) => parts)
    .filter(({ type }) => type === "text")
    .map(({ text }) => text)
    .join("");

/** A stock client that has loaded the page on this node. It resumes again when its response fails, as an app would. */
function follow(sdk, node, id, message) {
  class Chat extends sdk.AbstractChat {}
  const transport = new sdk.DefaultChatTransport({ api: `${node.url}/api/chat` });
  const chat = new Chat({ id, state: new PlainState([message]), transport });
  const errors = [];
  const done = (async () => {
    await chat.resumeStream();
    while (chat.status === "error") {
      errors.push(chat.error.message);
      chat.clearError();
      await chat.resumeStream();
    }
  })();
  return { chat, done, errors };
}

test("followers of a node that dies have each word once", async (t) => {
  const taken = [];
  for (let time = 0; time < TIMES; time += 1) {
    // A node takes over only after its own lease has been valid for its whole length.
    await pause(LEASE_MS);
    const id = `chat-${time}`;
    const [dead, other] = cluster.nodes;
    const message = { id: `user-${time}`, role: "user", parts: [{ type: "text", text: "go" }] };
    const body = JSON.stringify({ id, trigger: "submit-message", messages: [message] });
    const headers = { "content-type": "application/json" };
    fetch(`${dead.url}/api/chat`, { method: "POST", headers, body }).then(
      (response) => response.text().catch(() => ""),
      () => "",
    );
    await pause(700);
    const followers = [ai6, ai7].map((sdk) => follow(sdk, other, id, message));
    const sees = () => followers.every(({ chat }) => textOf(chat).includes("word-3"));
    assert.ok(await until(sees, { within: 5000 }), "they do not follow");
    dead.kill();
    const killed = Date.now();
    const isTaken = async () => (await cluster.factsOf(id)).join("\n").includes('"step-abandoned"');
    assert.ok(await until(isTaken, { within: ENDS_WITHIN_MS, every: 20 }), "it is not taken over");
    taken.push(Date.now() - killed);
    await Promise.all(followers.map(({ done }) => done));
    for (const { chat, errors } of followers) {
      const found = textOf(chat).trim().split(" ");
      const expected = Array.from({ length: 30 }, (_, word) => `word-${word}`);
      assert.deepEqual(found, expected, JSON.stringify(errors));
      assert.equal(chat.messages.filter(({ role }) => role === "assistant").length, 1);
    }
    await cluster.start();
  }
  t.diagnostic(`taken over after ${taken.join(", ")} ms, with lease_sec = ${LEASE_MS / 1000}`);
  assert.ok(Math.max(...taken) <= LEASE_MS, `taken over after ${taken.join(", ")} ms`);
  assert.deepEqual(cluster.faults, []);
});
