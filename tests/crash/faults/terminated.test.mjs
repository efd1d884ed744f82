// SIGTERM under load: the listener closes at once, open responses end in order, and the next server finds nothing half
// done.

import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import WebSocket from "ws";
import { send } from "../http.mjs";
import { pause, until } from "../wait.mjs";
import { Load } from "./load.mjs";
import { assertValid, said, world } from "./world.mjs";

const CHATS = 14;
const STREAMS = 6;
const ENDS_WITHIN_MS = 30_000;
const CLOSES_WITHIN_MS = 1000;

/** Some end soon, some take a few seconds, and some would exceed the grace period. */
const turns = Array.from({ length: STREAMS }, (_, number) => {
  const words = Array.from({ length: 10 }, (_, word) => [{ waitMs: 60 * (1 + (number % 3)) }, { text: [`${word} `] }]);
  return { when: `^slow-${number}: `, steps: [[...words.flat(), { text: ["end"] }]] };
});

const isRefused = (url) =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.once("error", () => resolve(true));
    socket.once("connect", () => {
      socket.destroy();
      resolve(false);
    });
  });

/** A socket on `/live`. Returns its close code. */
async function live(server) {
  const socket = new WebSocket(`${server.url.replace(/^http/, "ws")}/live`);
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  return new Promise((resolve) => socket.once("close", resolve));
}

test("terminated under load", async (t) => {
  const load = new Load(CHATS);
  const { server, ledger, context } = await world(t, { script: load.script(turns), delayOf: load.delayOf });
  const bodies = turns.map(async (_, number) => {
    const path = number % 2 ? "/api/chat" : "/stream";
    const response = await send(context, path, said(`slow-${number}`));
    // Rejects if the response breaks off.
    return { status: response.status, body: response.text() };
  });
  const responses = await Promise.all(bodies);
  const closed = [live(server), live(server)];
  const played = load.play(server);
  await pause(350);

  const begun = Date.now();
  server.terminate();
  assert.ok(await until(() => isRefused(server.url), { within: CLOSES_WITHIN_MS, every: 10 }), "the listener is open");
  const closedAfter = Date.now() - begun;
  for (const { status, body } of responses) {
    assert.equal(status, 200);
    assert.match(await body, /data: \[DONE\]\n\n$/);
  }
  for (const code of closed) assert.equal(await code, 1001, "a socket that waits is told that the server goes");
  assert.equal(await server.gone(), 0, server.said);
  assert.ok(Date.now() - begun < ENDS_WITHIN_MS);
  t.diagnostic(`the listener was closed after ${closedAfter} ms, the process was gone after ${Date.now() - begun} ms`);
  await Promise.race([played, pause(1000)]);
  load.abort();
  await played;

  // While it drains, a request on an open connection may get a 503, and a waiting response ends with an error that says
  // so.
  const isDraining = ({ text }) => / 503|"type":"error"/.test(text);
  const drained = load.journal.odd.filter(isDraining);
  t.diagnostic(`${drained.length} answers of a draining server: ${JSON.stringify(drained.map(({ text }) => text))}`);
  load.journal.odd = load.journal.odd.filter((odd) => !isDraining(odd));

  await server.start(load.script(turns));
  assert.deepEqual(await load.judge(server, ledger), []);
  assert.equal(load.counts.interrupted.all, 0, "what ran was let finish");
  await assertValid(
    context,
    turns.map((_, number) => `slow-${number}`),
  );
});
