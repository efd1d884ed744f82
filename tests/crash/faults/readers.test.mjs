// Clients that ask for much and never read. Their connections are closed after `write_sec`, the server's memory stays bounded, and nobody else
// notices.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { test } from "node:test";
import { send } from "../http.mjs";
import { pause, until } from "../wait.mjs";
import { growth } from "./process.mjs";
import {
  assertValid,
  decide,
  deliveredOnce,
  get,
  inbox,
  metric,
  question,
  said,
  say,
  settled,
  transferTurn,
  world,
} from "./world.mjs";

const WRITE_SEC = 2;
const MOST_MB = 64;

/** More than the system buffers for a client that does not read. */
const PIECE = "x".repeat(32 * 1024);
const long = Array.from({ length: 128 }, () => PIECE);
const call = { toolCall: { name: "transfer", input: { ref: "long", amount: 1 } } };
const script = {
  turns: [
    // It stays open, so that all of it is replayed to whoever comes.
    { when: "^long", steps: [[{ text: long }, call], [{ text: ["end"] }]] },
    { when: "^many", steps: [[{ text: long }]] },
    { when: "^other: ", steps: [[{ text: ["Here I am."] }]] },
    transferTurn("pay"),
  ],
};

/** A connection on which a request is written and nothing is ever read; `closedAfter` is set once the server has ended it. */
function mute(url, request) {
  const { hostname, port } = new URL(url);
  const begun = Date.now();
  const reader = { closedAfter: undefined };
  reader.socket = connect({ host: hostname, port: Number(port) });
  reader.socket.pause();
  reader.socket.write(request.replaceAll("\n", "\r\n"));
  const end = () => {
    reader.closedAfter ??= Date.now() - begun;
  };
  reader.socket.on("error", end).on("close", end);
  return reader;
}

const getRequest = (path) => `GET ${path} HTTP/1.1\nhost: localhost\n\n`;

const postRequest = (path, body) => {
  const text = JSON.stringify(body);
  return `POST ${path} HTTP/1.1\nhost: localhost\ncontent-type: application/json\ncontent-length: ${text.length}\n\n${text}`;
};

const upgradeRequest = (path) =>
  `${getRequest(path).trimEnd()}
connection: upgrade
upgrade: websocket
sec-websocket-version: 13
sec-websocket-key: ${randomBytes(16).toString("base64")}

`;

/** Twenty in all. */
const READERS = [
  // The model writes, and nobody reads.
  ...Array.from({ length: 4 }, (_, number) => postRequest("/stream", said(`many-${number}`, "many"))),
  // What was written is replayed, as server-sent events and on a socket.
  ...Array.from({ length: 5 }, () => getRequest("/api/chat/long/stream")),
  ...Array.from({ length: 5 }, () => upgradeRequest("/live?id=long&text=progressive")),
  ...Array.from({ length: 6 }, () => getRequest("/api/chat/long/messages")),
];

/** How many streams and sockets the server itself still has, whatever a client that does not read can see. */
const opened = async (context) =>
  (await metric(context, "holdpoint_streams")) + (await metric(context, "holdpoint_sockets"));

test(`${READERS.length} readers that never read`, async (t) => {
  const settings = `[limits]\nwrite_sec = ${WRITE_SEC}\n`;
  const { server, ledger, context } = await world(t, { settings, script });
  const approvalId = await question(context, "pay");
  const response = await send(context, "/api/chat", said("long", "long"));
  await response.text();
  assert.ok((await get(context, "/api/chat/long/messages")).text.length > long.length * PIECE.length, "it is large");
  const readers = [];
  t.after(() => readers.map(({ socket }) => socket.destroy()));
  const took = [];
  const grown = await growth(
    server,
    async () => {
      readers.push(...READERS.map((request) => mute(server.url, request)));
      // The others are served all the time.
      for (const end = Date.now() + 1000 * (WRITE_SEC + 2); Date.now() < end; await pause(100)) {
        const begun = Date.now();
        assert.equal((await get(context, "/api/chats")).status, 200);
        assert.equal((await inbox(context)).length, 2);
        took.push(Date.now() - begun);
      }
    },
    { limit: 1024 },
  );
  const slowest = Math.max(...took);
  t.diagnostic(`${Math.round(grown)} MB more, the slowest of the others took ${slowest} ms`);
  assert.equal(await opened(context), 0, "the server has let go of them");
  // What the client's own system has buffered is still there; then comes the end.
  for (const { socket } of readers) socket.resume();
  const isClosed = ({ closedAfter }) => closedAfter !== undefined;
  assert.ok(await until(() => readers.every(isClosed), { within: 3000 }), "connections are still open");
  assert.equal((await decide(context, approvalId)).status, 200);
  const answer = await say(context, "other");
  assert.ok(answer.some(({ type }) => type === "finish"));
  assert.equal((await settled(context, "pay")).outcome.cause, "ran");
  assert.deepEqual(deliveredOnce(ledger.deliveries), ["pay"]);
  await assertValid(context, ["pay", "other", "many-0"]);
  assert.ok(slowest < 1000, `others wait ${slowest} ms`);
  assert.ok(grown < MOST_MB, `${Math.round(grown)} MB for ${READERS.length} readers`);
});
