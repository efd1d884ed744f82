// Clients that request a lot and never read. Their connections are closed after `write_sec`, the server's memory stays
// bounded, and other clients are unaffected.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
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
const PIECE = "x".repeat(64 * 1024);
const long = Array.from({ length: 80 }, () => PIECE);
const call = { toolCall: { name: "transfer", input: { ref: "long", amount: 1 } } };
const script = {
  turns: [
    // It stays open, so that every new client gets a full replay.
    { when: "^long", steps: [[{ text: long }, call], [{ text: ["end"] }]] },
    { when: "^many", steps: [[{ text: long }]] },
    { when: "^other: ", steps: [[{ text: ["Here I am."] }]] },
    transferTurn("pay"),
  ],
};

/** A connection that sends a request and never reads; `closedAfter` is set once the server has closed it. */
function mute(url, request) {
  const { hostname, port } = new URL(url);
  const begun = Date.now();
  const reader = { closedAfter: undefined, bytes: 0, to: Number(port), from: 0 };
  reader.socket = connect({ host: hostname, port: reader.to });
  reader.socket.once("connect", () => {
    reader.from = reader.socket.localPort;
  });
  reader.socket.write(request.replaceAll("\n", "\r\n"));
  const end = () => {
    reader.closedAfter ??= Date.now() - begun;
  };
  reader.socket.on("error", end).on("close", end);
  reader.socket.on("data", (data) => {
    reader.bytes += data.length;
  });
  reader.socket.pause();
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
  ...Array.from({ length: 2 }, (_, number) => postRequest("/stream", said(`many-${number}`, "many"))),
  // The written text is replayed.
  ...Array.from({ length: 16 }, () => upgradeRequest("/live?id=long&text=progressive")),
  ...Array.from({ length: 2 }, () => getRequest("/api/chat/long/messages")),
];

/** They connect one after the other: the time to write megabytes for each is not under test. */
const APART_MS = 150;

/** How many streams and sockets the server itself still has open, whatever a non-reading client can observe. */
const opened = async (context) =>
  (await metric(context, "holdpoint_streams")) + (await metric(context, "holdpoint_sockets"));

const ESTABLISHED = "01";
const hex = (port) => port.toString(16).toUpperCase().padStart(4, "0");

/** How many connections of these readers the server has not closed, as the system sees them. */
const held = async (readers) => {
  const ends = new Set(readers.map(({ from, to }) => `${hex(to)} ${hex(from)}`));
  const lines = (await readFile("/proc/net/tcp", "utf8")).split("\n").slice(1);
  const ofServer = lines.map((line) => line.trim().split(/\s+/)).filter((fields) => fields[3] === ESTABLISHED);
  const port = (address) => address.split(":")[1];
  return ofServer.filter(([, local, remote]) => ends.has(`${port(local)} ${port(remote)}`)).length;
};

/** Requests of other clients meanwhile. Returns how long each response took. */
async function poll(context, ms) {
  const took = [];
  for (const end = Date.now() + ms; Date.now() < end; await pause(50)) {
    const begun = Date.now();
    assert.equal((await get(context, "/api/chats")).status, 200);
    assert.equal((await inbox(context)).length, 2);
    took.push(Date.now() - begun);
  }
  return took;
}

test(`${READERS.length} readers that never read`, async (t) => {
  const settings = `[limits]\nwrite_sec = ${WRITE_SEC}\n`;
  const { server, ledger, context } = await world(t, { settings, script });
  const approvalId = await question(context, "pay");
  const response = await send(context, "/api/chat", said("long", "long"));
  await response.text();
  assert.ok((await get(context, "/api/chat/long/messages")).text.length > long.length * PIECE.length, "it is large");
  // Warm up: the cost of such a turn with a reading client is not measured here.
  await say(context, "many-read", "many");
  const readers = [];
  t.after(() => readers.map(({ socket }) => socket.destroy()));
  const took = [];
  const grown = await growth(
    server,
    async () => {
      for (const request of READERS) {
        readers.push(mute(server.url, request));
        took.push(...(await poll(context, APART_MS)));
      }
      took.push(...(await poll(context, 1000 * (WRITE_SEC + 1))));
    },
    { limit: 1024 },
  );
  const sorted = took.toSorted((a, b) => a - b);
  const [usual, slowest] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  t.diagnostic(`${Math.round(grown)} MB more; the others took ${usual} ms (half of them), up to ${slowest} ms`);
  const isOver = async () => (await opened(context)) + (await held(readers)) === 0;
  assert.ok(await until(isOver, { within: 10_000 }), "the server has let go of them");
  // Drain what the client's own system has buffered; then comes the end.
  for (const { socket } of readers) socket.resume();
  const isClosed = ({ closedAfter }) => closedAfter !== undefined;
  assert.ok(await until(() => readers.every(isClosed), { within: 3000 }), "connections are still open");
  const whole = readers.filter(({ bytes }) => bytes > long.length * PIECE.length).length;
  assert.equal(whole, 0, `${whole} of them got everything: nothing was tested`);
  assert.equal((await decide(context, approvalId)).status, 200);
  const answer = await say(context, "other");
  assert.ok(answer.some(({ type }) => type === "finish"));
  assert.equal((await settled(context, "pay")).outcome.cause, "ran");
  assert.deepEqual(deliveredOnce(ledger.deliveries), ["pay"]);
  await assertValid(context, ["pay", "other", "many-0"]);
  // How long the slowest of them waits is measured where nothing else runs (`../memory`).
  assert.ok(usual < 1000, `others wait ${usual} ms`);
  assert.ok(grown < MOST_MB, `${Math.round(grown)} MB for ${READERS.length} readers`);
});
