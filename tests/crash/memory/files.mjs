// Downloads of the files of a long chat: many at once, of one file and of many, and by somebody who may not read them.

import assert from "node:assert/strict";
import { createServer } from "node:http";

/** Of each file. A call can have 5 MiB. */
const FILE_BYTES = 4 << 20;
const CHAT = "files";
/** What comes before the last file in its turn: the files of the calls beside it. */
const ALBUM = 4;

/** The endpoint of a tool that answers with a file. */
export const drawing = async () => {
  const picture = Buffer.alloc(FILE_BYTES, 1);
  const endpoint = createServer((request, response) => {
    request.resume();
    response.setHeader("content-type", "image/png").end(picture);
  });
  await new Promise((listening) => endpoint.listen(0, "127.0.0.1", listening));
  return endpoint;
};

/** The turns of the script that the chat is made of. */
export const fileTurns = () => {
  const draw = { toolCall: { name: "draw", input: {} } };
  const turn = (when, count) => ({ when, steps: [Array.from({ length: count }, () => draw), [{ text: ["drawn"] }]] });
  return [turn("draw", 1), turn("album", ALBUM)];
};

/** Makes a chat that is nearly full. Returns the paths of its files, oldest first. */
export const longChat = async (server) => {
  for (const text of ["draw", "draw", "draw", "large", "hello", "album"]) {
    await (await server.say("ann", CHAT, text)).text();
  }
  const calls = await (await server.fetch("ann", `/api/chat/${CHAT}/holds?calls=all`)).json();
  const drawn = calls.filter(({ toolName }) => toolName === "draw");
  assert.equal(drawn.length, 3 + ALBUM);
  const paths = drawn.map(({ toolCallId }) => `/api/chat/${CHAT}/files/${toolCallId}/0`);
  for (const path of paths) {
    const file = await server.fetch("ann", path);
    assert.deepEqual([file.status, (await file.arrayBuffer()).byteLength], [200, FILE_BYTES]);
  }
  return paths;
};

/** `again` requests paths in turn until it is over, and returns the statuses. */
export const fileAttacks = (paths, again) => {
  const download = async (who, wanted, isOver, expected) => {
    const statuses = await again(who, wanted, 100, isOver);
    assert.ok(statuses.has(expected), `nobody got ${expected}: ${[...statuses]}`);
    // What has no room is told to come again, and so is who asks too often.
    for (const status of [expected, 429, 503]) statuses.delete(status);
    assert.deepEqual([...statuses], []);
  };
  return {
    "downloads of one file, 100 at a time": async (_, isOver) =>
      await download("ann", () => paths().slice(0, 1), isOver, 200),
    "downloads of the last file of a large turn, 100 at a time": async (_, isOver) =>
      await download("ann", () => paths().slice(-1), isOver, 200),
    "downloads of all files, 100 at a time": async (_, isOver) => await download("ann", paths, isOver, 200),
    "200 unread downloads": async (server) => {
      for (const path of paths()) server.unread("ann", path, Math.ceil(200 / paths().length));
    },
    "downloads by somebody who gets 404": async (_, isOver) => await download("carol", paths, isOver, 404),
  };
};
