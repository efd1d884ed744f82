// What one subject stores, up to the limits and beyond. dan does it, so that the others have theirs.

import assert from "node:assert/strict";
import { Agent, request } from "node:http";

/** The default of `stored_bytes_per_subject`. */
const STORED_BYTES = 1 << 30;
const MESSAGE_BYTES = 3_900_000;
/** How many are refused before an attack ends. */
const REFUSED = 50;
/** In place of the default of 100,000, which take minutes to begin. */
export const CHATS = 500;
const AT_A_TIME = 8;

/** Errors of a chat are one sentence, for the person who reads it. */
const FULL = `your chats have reached ${STORED_BYTES} bytes`;
const TOO_MANY = `you have ${CHATS} chats`;

const said = async (server, who, chat, text) => {
  const response = await server.say(who, chat, text);
  return { status: response.status, text: await response.text() };
};

const assertRefused = ({ status, text }, expected, why) => {
  assert.equal(status, expected, text);
  assert.ok(text.includes(why), text);
};

const openHolds = async (server, who, chat) => {
  const holds = await (await server.fetch(who, `/api/chat/${chat}/holds?calls=all`)).json();
  return holds.map(({ approvalId, state }) => ({ approvalId, state }));
};

/** Something of dan's that waits before the limit is reached. */
export const waiting = async (server) => {
  assert.equal((await said(server, "dan", "waits", "small")).status, 200);
  return await openHolds(server, "dan", "waits");
};

/** Over one connection, with messages of nearly the largest size, until some were refused. */
export const floodOfBytes = async (server, isOver) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const text = "x".repeat(MESSAGE_BYTES);
  const post = (at) =>
    new Promise((resolve, reject) => {
      const body = JSON.stringify({ id: `stored-${at}`, messages: [{ role: "user", content: text }] });
      const headers = { authorization: "Bearer key-of-dan", "content-type": "application/json" };
      const options = { agent, host: server.host, port: server.port, path: "/api/chat", method: "POST", headers };
      const sent = request(options, (response) => {
        response.on("error", reject).on("end", () => resolve(response.statusCode));
        response.resume();
      });
      sent.on("error", reject).end(body);
    });
  const statuses = { 200: 0, 413: 0 };
  for (let at = 0; statuses[413] < REFUSED && !isOver(); at++) statuses[await post(at)] += 1;
  agent.destroy();
  const [stored, one] = [statuses[200] * MESSAGE_BYTES, MESSAGE_BYTES];
  // What is stored of a message is a little more than its text.
  assert.ok(stored > STORED_BYTES * 0.95 && stored <= STORED_BYTES + one, `${stored} bytes were taken`);
  assert.deepEqual(statuses, { 200: statuses[200], 413: REFUSED }, "all others are refused");
};

/** At the limit, decisions are taken, others go on, and a deletion makes room. */
export const afterTheBytes = async (server, approvals) => {
  for (const chat of ["waits", "new"]) assertRefused(await said(server, "dan", chat, "hello"), 413, FULL);
  for (const { approvalId } of approvals) {
    const body = JSON.stringify({ approved: true });
    const decided = await server.fetch("dan", `/api/approvals/${approvalId}`, { method: "POST", body });
    assert.equal(decided.status, 200, "a decision is always taken");
    await decided.text();
  }
  const states = async () => (await openHolds(server, "dan", "waits")).map(({ state }) => state);
  for (const until = Date.now() + 20_000; Date.now() < until; ) {
    if ((await states()).every((state) => state === "settled")) break;
  }
  assert.deepEqual(await states(), ["settled"], "and its outcome is written");
  assert.equal((await said(server, "bob", "bobs", "hello")).status, 200, "others have limits of their own");
  const deleted = await server.fetch("dan", "/api/chat/stored-0", { method: "DELETE" });
  assert.equal(deleted.status, 204);
  assert.equal((await said(server, "dan", "waits", "hello")).status, 200, "there is room again");
};

/** Begins small chats until some were refused. */
export const floodOfChats = async (server, isOver) => {
  const counts = { begun: 0, refused: 0 };
  let at = 0;
  const one = async () => {
    while (counts.refused < REFUSED && !isOver()) {
      const { status, text } = await said(server, "dan", `small-${at++}`, "hello");
      if (status === 200) counts.begun += 1;
      else if (text.includes(TOO_MANY)) counts.refused += 1;
      // Asking too often is another limit.
      else assert.equal(status, 429, text);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, one));
  assert.ok(counts.begun >= CHATS && counts.begun < CHATS + AT_A_TIME, `${counts.begun} chats were begun`);
  assert.ok(counts.refused >= REFUSED, `${counts.refused} were refused`);
};

/** At the limit, chats that are there go on, others begin theirs, and a deletion makes room. */
export const afterTheChats = async (server) => {
  assertRefused(await said(server, "dan", "one-more", "hello"), 429, TOO_MANY);
  assert.equal((await said(server, "dan", "small-0", "hello")).status, 200, "an existing chat goes on");
  assert.equal((await said(server, "bob", "bobs", "hello")).status, 200, "others have limits of their own");
  for (let at = 0; at < AT_A_TIME; at++) {
    await server.fetch("dan", `/api/chat/small-${at}`, { method: "DELETE" });
  }
  assert.equal((await said(server, "dan", "one-more", "hello")).status, 200, "there is room again");
};
