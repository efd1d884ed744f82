// SIGSTOP under load, and SIGCONT three seconds later, as if the machine had slept.

import assert from "node:assert/strict";
import { test } from "node:test";
import WebSocket from "ws";
import { record } from "../http.mjs";
import { pause, until } from "../wait.mjs";
import { Load } from "./load.mjs";
import { assertValid, decide, metric, question, say, settled, transferTurn, world } from "./world.mjs";

const CHATS = 12;
const STOPPED_MS = 3000;

/** Longer than it takes to stop the process, and shorter than the stop. */
const DEADLINE_SEC = 2;

const brief = `
[tools.brief]
execution = "server"
description = "A call that is asked about for a short time"
url = "http://127.0.0.1:9/"
allow_private = true
approval = "always"
approval_timeout_sec = ${DEADLINE_SEC}
`;

const WORDS = Array.from({ length: 20 }, (_, number) => `word-${number} `);
const slow = { when: "^slow: ", steps: [WORDS.flatMap((word) => [{ waitMs: 60 }, { text: [word] }])] };

/** A socket that receives everything of a chat. */
async function listen(server, chat) {
  const chunks = [];
  const heard = { chunks, isDone: false };
  heard.socket = new WebSocket(`${server.url.replace(/^http/, "ws")}/live?id=${chat}`);
  heard.socket.on("message", (data) => {
    heard.isDone ||= record(String(data), (chunk) => chunks.push(chunk));
  });
  await new Promise((resolve, reject) => heard.socket.once("open", resolve).once("error", reject));
  return heard;
}

test("stopped for three seconds in the middle of load", async (t) => {
  const load = new Load(CHATS);
  const own = [slow, transferTurn("brief", "brief"), transferTurn("open")];
  const script = load.script(own);
  const { server, ledger, context } = await world(t, { settings: brief, script, delayOf: load.delayOf });
  const open = await question(context, "open");
  const played = load.play(server);
  const words = say(context, "slow");
  await question(context, "brief");
  const heard = await listen(server, "brief");
  t.after(() => heard.socket.terminate());
  await pause(250);

  load.isStalled = true;
  server.signal("SIGSTOP");
  // A decision sent meanwhile gets its response afterwards.
  const decided = decide(context, open);
  await pause(STOPPED_MS);
  assert.equal(ledger.of("open").length, 0, "it stands still");
  server.signal("SIGCONT");

  assert.equal((await decided).status, 200);
  const text = (await words).filter(({ type }) => type === "text-delta").map(({ delta }) => delta);
  assert.equal(text.join(""), WORDS.join(""), "the stream goes on, without a gap");
  // The deadline passed while it was stopped. It fires once.
  const expired = await settled(context, "brief");
  assert.equal(expired.outcome.cause, "expired");
  const outcomes = () => heard.chunks.filter(({ type }) => type === "tool-output-error");
  assert.ok(await until(() => outcomes().length > 0, { within: 5000 }), "the socket is told");
  await pause(500);
  assert.equal(outcomes().length, 1);
  assert.equal(await metric(context, "holdpoint_hold_expiries_total"), 1);
  assert.equal((await settled(context, "open")).outcome.cause, "ran");
  assert.equal(ledger.of("open").length, 1);

  // Some clients have given up meanwhile. They reconnect.
  await played;
  load.isStalled = false;
  await load.play(server);
  ledger.deliveries = ledger.deliveries.filter(({ ref }) => ref !== "open");
  assert.deepEqual(await load.judge(server, ledger), []);
  assert.equal(load.counts.interrupted.all, 0, "nothing is cut off by a stop");
  await assertValid(context, ["slow", "brief", "open"]);
});
