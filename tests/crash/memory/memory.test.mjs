// What one client can take: memory, and the time of others. Each attack that was found is played with default limits.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileAttacks, longChat } from "./files.mjs";
import { MOST_BYTES, MOST_WAIT_MS, Server } from "./server.mjs";
import { afterTheBytes, afterTheChats, CHATS, floodOfBytes, floodOfChats, waiting } from "./storage.mjs";

const SECONDS = 6;

let server;
let ended;
let files;

const prepare = async (engine) => {
  server = await Server.start(engine);
  // Twelve calls with large inputs wait in each of two chats; in a third they have ended.
  for (const chat of ["a", "b", "ended"]) await (await server.say("ann", chat, "large")).text();
  const holds = await (await server.fetch("ann", "/api/chat/ended/holds")).json();
  ended = holds[0].approvalId;
  await (await server.say("ann", "ended", "hello")).text();
  const refused = await server.fetch("ann", `/api/approvals/${ended}`);
  assert.equal(refused.status, 410);
  await refused.text();
  files = await longChat(server);
};

/** Writes as fast as it is taken. */
const flood = async (socket, piece, isOver) => {
  while (!isOver() && !socket.destroyed) {
    if (!socket.write(piece)) await Promise.race([new Promise((done) => socket.once("drain", done)), sleep(100)]);
  }
};

const upgrade = async (path) => {
  const socket = server.connect();
  socket.write(
    `GET ${path} HTTP/1.1\r\nhost: h\r\nauthorization: Bearer key-of-ann\r\nconnection: upgrade\r\nupgrade: websocket\r\n` +
      "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
  );
  await sleep(200);
  return socket;
};

const pings = Buffer.concat(
  Array.from({ length: 500 }, () => Buffer.concat([Buffer.from([0x89, 0xfd, 0, 0, 0, 0]), Buffer.alloc(125, "x")])),
);

/** GETs of these paths one after the other, many at a time, whose responses are read. Returns the statuses. */
const again = async (who, paths, count, isOver) => {
  const statuses = new Set();
  const all = paths();
  const one = async (_, at) => {
    for (let next = at; !isOver(); next++) {
      const response = await server.fetch(who, all[next % all.length]);
      statuses.add(response.status);
      await response.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: count }, one));
  return statuses;
};

const waitingTurn = async () => {
  const response = await server.say("ann", "running", "wait");
  const reader = response.body.getReader();
  for (let read = 0; read < 3e6; ) read += (await reader.read()).value.length;
  return reader;
};

const attacks = {
  "unread pings on /live": async (_, isOver) => await flood(await upgrade("/live"), pings, isOver),
  "unread pings on /api/chat/ws": async (_, isOver) => await flood(await upgrade("/api/chat/ws"), pings, isOver),
  "200 unread pages of the inbox": async () => server.unread("ann", "/api/approvals?limit=1000", 200),
  "200 unread pages of the record": async () => server.unread("ann", "/api/audit?limit=1000", 200),
  "200 unread lists of chats": async () => server.unread("ann", "/api/chats?limit=1000", 200),
  "200 unread histories": async () => server.unread("ann", "/api/chat/ended/messages", 200),
  "an ended approval, 100 at a time": async (_, isOver) =>
    await again("ann", () => [`/api/approvals/${ended}`], 100, isOver),
  "the same by somebody who gets 404": async (_, isOver) =>
    await again("carol", () => [`/api/approvals/${ended}`], 100, isOver),
  "300 unread resumes of a large message": async (_, isOver) => {
    const reader = await waitingTurn();
    server.unread("ann", "/api/chat/running/stream", 300);
    while (!isOver()) await sleep(100);
    await reader.cancel();
  },
  "headers without an end, 1,200 connections": async (_, isOver) => {
    const header = `GET / HTTP/1.1\r\n${`x-more: ${"x".repeat(1000)}\r\n`.repeat(500)}`;
    const one = () => server.connect().write(header);
    for (let at = 0; at < 1200 && !isOver(); at++) one();
  },
  "bodies of small values": async (_, isOver) => {
    const value = `[${Array.from({ length: 45_000 }, () => '{"a":1}').join(",")}]`;
    const body = `{"id":"values","messages":[{"role":"user","content":"hello"}],"x":${value}}`;
    const one = async () => {
      while (!isOver()) await (await server.fetch("ann", "/api/chat", { method: "POST", body })).arrayBuffer();
    };
    await Promise.all(Array.from({ length: 40 }, one));
  },
  "20 histories of messages with many parts": async (_, isOver) => {
    const parts = Array.from({ length: 30_000 }, () => ({ type: "text", text: "a" }));
    for (let at = 0; at < 8; at++) {
      const body = JSON.stringify({ id: "parts", messages: [{ id: `parts-${at}`, role: "user", parts }] });
      await (await server.fetch("ann", "/api/chat", { method: "POST", body })).text();
    }
    await again("ann", () => ["/api/chat/parts/messages"], 20, isOver);
  },
  "results of many numbers": async () => {
    const begun = {
      method: "POST",
      body: JSON.stringify({ id: "acks", messages: [{ role: "user", content: "look" }] }),
    };
    await (await server.fetch("ann", "/api/chat", begun, { "x-holdpoint-wait": "resubmit" })).text();
    const holds = await (await server.fetch("ann", "/api/chat/acks/holds")).json();
    assert.equal(holds.length, 60);
    const output = Array.from({ length: 98_000 }, () => 1);
    const statuses = new Set();
    for (const { toolCallId } of holds) {
      const body = JSON.stringify({ toolCallId, status: "success", requestedAt: "2026-01-01T00:00:00Z", output });
      const response = await server.fetch("ann", "/api/tools/ack", { method: "POST", body });
      statuses.add(response.status);
      await response.arrayBuffer();
    }
    assert.deepEqual([...statuses].sort(), [200, 503], "what has room is taken, the rest is told to come again");
  },
  "chats without an end": async (_, isOver) => {
    let at = 0;
    const one = async () => {
      while (!isOver()) {
        const body = JSON.stringify({
          id: `more-${at++}`,
          messages: [{ role: "user", content: "x".repeat(3_900_000) }],
        });
        await (await server.fetch("ann", "/api/chat", { method: "POST", body })).arrayBuffer();
      }
    };
    await Promise.all(Array.from({ length: 4 }, one));
  },
  ...fileAttacks(() => files, again),
};

/** Plays an attack, and judges what it took. */
const judge = async (name, attack, options) => {
  const most = await server.under(attack, SECONDS, options);
  const said = `${Math.round(most.bytes / 1e6)} MB, others waited ${Math.round(most.waitMs)} ms`;
  console.log(`${name}: ${said}`);
  assert.ok(most.bytes < MOST_BYTES, said);
  assert.ok(most.waitMs < MOST_WAIT_MS, said);
};

for (const engine of ["sqlite", "postgres"]) {
  describe(engine, () => {
    before(async () => await prepare(engine));
    after(async () => await server?.stop());
    for (const [name, attack] of Object.entries(attacks)) {
      test(name, async () => await judge(`${engine}, ${name}`, attack));
    }
    test("a subject that stores until it may not", async () => {
      const approvals = await waiting(server);
      const name = `${engine}, what a subject may store and more, over one connection`;
      await judge(name, floodOfBytes, { isWhole: true });
      await afterTheBytes(server, approvals);
    });
  });

  describe(`${engine}, with a limit of ${CHATS} chats`, () => {
    before(async () => {
      server = await Server.start(engine, `[limits]\nchats_per_subject = ${CHATS}\n`);
    });
    after(async () => await server?.stop());
    test("a subject that begins chats until it may not", async () => {
      await judge(`${engine}, small chats, several at a time`, floodOfChats, { isWhole: true });
      await afterTheChats(server);
    });
  });
}
