// A feature of the SDK's WebSocket protocol that its own client never uses: a resume after a given `sequence`.

import assert from "node:assert/strict";
import { WebSocket } from "ws";
import { config, PHOTO } from "./support/browser.mjs";
import { KINDS } from "./support/client.mjs";
import { play } from "./support/play.mjs";
import { until } from "./support/wait.mjs";

/**
 * A connection without the SDK, whose responses wait for the browser's result. Frames are still kept for the checker,
 * unless there is no tab to keep them.
 */
async function connect({ server }, tab) {
  const Socket = tab?.webSocket() ?? WebSocket;
  const socket = new Socket(`${server.url.replace(/^http/, "ws")}/api/chat/ws?wait=stream`);
  const frames = [];
  socket.on("message", (data) => frames.push(JSON.parse(String(data))));
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  return {
    frames,
    send: (frame) => socket.send(JSON.stringify({ headers: {}, body: {}, ...frame })),
    until: (what, ask) => until(what, () => frames.find(ask)),
    close: () =>
      new Promise((resolve) => {
        socket.once("close", resolve).close();
      }),
  };
}

const user = (text) => ({ id: `user-${text}`, role: "user", parts: [{ type: "text", text }] });
const send = (id, text) => ({ type: "send", requestId: "send", id, trigger: "submit-message", messages: [user(text)] });
const chunks = (frames) => frames.filter(({ type }) => type === "chunk");
const shown = (frames) => chunks(frames).map(({ sequence, chunk }) => ({ sequence, chunk }));
const isAsked = ({ chunk }) => chunk?.type === "tool-input-available";
const isEndOf = (request) => (frame) => frame.type === "end" && frame.requestId === request;

/**
 * One connection receives the whole turn; others were lost in the middle and resume there. Their streams have no start,
 * so they are not checked on their own: each must equal the rest of the first one, which is checked.
 */
async function withLastSequence(play) {
  const whole = await connect(play, play.tab);
  whole.send(send(play.chatId, "story"));
  const { chunk } = await whole.until("the browser is asked", isAsked);
  const resume = async (lastSequence) => {
    const connection = await connect(play);
    connection.send({ type: "resume", requestId: "resume", id: play.chatId, lastSequence });
    return { lastSequence, connection };
  };
  const resumed = await Promise.all([0, chunks(whole.frames).at(-1).sequence].map(resume));
  await play.ack(chunk.toolCallId, { output: PHOTO });
  await whole.until("the turn ends", isEndOf("send"));
  for (const { lastSequence, connection } of resumed) {
    await connection.until("the resumed one ends", isEndOf("resume"));
    assert.equal(connection.frames[0].type, "start");
    const expected = chunks(whole.frames).filter(({ sequence }) => sequence > lastSequence);
    assert.deepEqual(shown(connection.frames), shown(expected));
  }
  await Promise.all([whole, ...resumed.map(({ connection }) => connection)].map((connection) => connection.close()));
}

async function withoutLastSequence(play) {
  const whole = await connect(play, play.tab);
  whole.send(send(play.chatId, "story"));
  const { chunk } = await whole.until("the browser is asked", isAsked);
  const resumed = await connect(play, play.newTab());
  resumed.send({ type: "resume", requestId: "resume", id: play.chatId });
  await resumed.until("this one is asked as well", isAsked);
  await play.ack(chunk.toolCallId, { output: PHOTO });
  await whole.until("the turn ends", isEndOf("send"));
  await resumed.until("the resumed one ends", isEndOf("resume"));
  assert.deepEqual(shown(resumed.frames), shown(whole.frames));
  await Promise.all([whole.close(), resumed.close()]);
}

/** Sequences are per response: after an approval they start at 0 again. */
async function inAContinuation(play) {
  const client = play.open({ wait: "stream" });
  await client.say("pay, then photo");
  await client.decide(client.tool("process_payment"), true);
  await client.until("the second call is made", () => client.toolCalls.length === 2);
  // `start` and the outcome, which the client has: the second step follows.
  const resumed = await connect(play);
  resumed.send({ type: "resume", requestId: "resume", id: play.chatId, lastSequence: 1 });
  const { chunk } = await resumed.until("the browser is asked", isAsked);
  await play.ack(chunk.toolCallId, { output: PHOTO });
  await resumed.until("it ends", isEndOf("resume"));
  await client.rests({ sends: 2 });
  const frames = play.tab.lines.flatMap(({ frame }) => frame ?? []);
  const second = frames.slice(frames.findLastIndex(({ type }) => type === "start"));
  assert.deepEqual(shown(resumed.frames), shown(second).slice(2));
  await resumed.close();
}

async function whenNothingRuns(play) {
  const connection = await connect(play, play.tab);
  connection.send({ type: "resume", requestId: "unknown", id: play.chatId, lastSequence: 3 });
  await connection.until("it is told", (frame) => frame.type === "no-active" && frame.requestId === "unknown");
  connection.send(send(play.chatId, "hello"));
  await connection.until("the turn ends", isEndOf("send"));
  connection.send({ type: "resume", requestId: "over", id: play.chatId, lastSequence: 3 });
  await connection.until("it is told", (frame) => frame.type === "no-active" && frame.requestId === "over");
  await connection.close();
}

/** Unusable frames get a response, and the connection stays open. */
async function badFrames(play) {
  const connection = await connect(play);
  connection.send({ type: "dance", requestId: "bad" });
  await connection.until("it is told", (frame) => frame.type === "error" && frame.requestId === "bad");
  connection.send(send(play.chatId, "hello"));
  await connection.until("the turn ends", isEndOf("send"));
  await connection.close();
}

play(
  "the SDK's WebSocket protocol, raw",
  {
    "resume with lastSequence": withLastSequence,
    "resume without lastSequence": withoutLastSequence,
    "resume with lastSequence in a continuation": inAContinuation,
    "resume when nothing runs": whenNothingRuns,
    "bad frames": badFrames,
  },
  { config, kinds: KINDS.filter(({ isSocket }) => isSocket) },
);
