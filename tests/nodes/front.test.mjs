// The load balancer of these tests, against nodes of its own.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, test } from "node:test";
import { WebSocket, WebSocketServer } from "ws";
import { beginsTurn, Front } from "./front.mjs";

const closing = [];
after(() => Promise.all(closing.map((close) => close())));

/** A node that answers with its name, or as `answer` says. */
async function node(name, answer = (_, response) => response.end(name)) {
  const server = createServer(answer);
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (socket) => socket.on("message", (data) => socket.send(`${name} ${data}`)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    for (const client of sockets.clients) client.terminate();
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

async function front(nodes, options) {
  const opened = await Front.open(nodes, options);
  closing.push(() => opened.close());
  return opened;
}

const three = () => Promise.all(["a", "b", "c"].map((name) => node(name)));
const textOf = async (url, init) => (await fetch(url, init)).text();
const post = (url, body) => textOf(url, { method: "POST", body: JSON.stringify(body) });

const said = { messages: [{ role: "user", parts: [{ type: "text", text: "hi" }] }] };
const decided = {
  messages: [...said.messages, { role: "assistant", parts: [{ type: "tool-pay", state: "approval-responded" }] }],
};

test("the nodes take turns", async () => {
  const { url, counts } = await front(await three());
  const seen = [];
  for (let at = 0; at < 6; at += 1) seen.push(await textOf(url));
  assert.deepEqual(seen, ["b", "c", "a", "b", "c", "a"]);
  assert.deepEqual(counts, [2, 2, 2]);
});

test("apart: the first node gets what begins a turn, and nothing else", async () => {
  const { url } = await front(await three(), { route: "apart" });
  for (const path of ["/api/chat", "/stream"]) {
    assert.equal(await post(url + path, said), "a");
    assert.equal(await post(url + path, { ...decided, trigger: "regenerate-message" }), "a");
    assert.notEqual(await post(url + path, decided), "a");
  }
  const others = new Set();
  for (let at = 0; at < 4; at += 1) others.add(await textOf(`${url}/api/chat/id/stream`));
  assert.deepEqual([...others].toSorted(), ["b", "c"]);
});

test("an answer in a user's message begins no turn", () => {
  assert.equal(beginsTurn(JSON.stringify({ messages: [{ ...decided.messages[1], role: "user" }] })), false);
  assert.equal(beginsTurn("no JSON"), false);
});

test("a response arrives piece by piece", async () => {
  let more;
  const stream = await node("a", (_, response) => {
    response.write("one");
    more = () => response.end("two");
  });
  const { url } = await front([stream]);
  const reader = (await fetch(url)).body.getReader();
  assert.equal(String(Buffer.from((await reader.read()).value)), "one");
  more();
  assert.equal(String(Buffer.from((await reader.read()).value)), "two");
  assert.equal((await reader.read()).done, true);
});

test("a client that goes away is gone at the node", async () => {
  let answered;
  const stream = await node("a", (_, response) => {
    response.write("one");
    answered = response;
  });
  const { url } = await front([stream]);
  const control = new AbortController();
  const response = await fetch(url, { signal: control.signal });
  await response.body.getReader().read();
  const gone = once(answered, "close");
  control.abort();
  await gone;
});

test("a node that breaks off breaks off at the client", async () => {
  const breaking = await node("a", (_, response) => {
    response.write("one", () => setTimeout(() => response.destroy(), 20));
  });
  const { url } = await front([breaking]);
  const response = await fetch(url);
  await assert.rejects(response.text());
});

test("a node that is down is replaced, and none is left means no answer", async () => {
  const [a, b] = await three();
  const down = "http://127.0.0.1:1";
  const { url } = await front([a, down, b]);
  const seen = [];
  for (let at = 0; at < 3; at += 1) seen.push(await post(url, said));
  assert.deepEqual(seen, ["b", "b", "a"]);
  const dead = await front([down, down]);
  await assert.rejects(fetch(dead.url));
});

test("WebSockets take turns too, and pass both ways", async () => {
  const { url } = await front(await three());
  const seen = [];
  for (let at = 0; at < 3; at += 1) {
    const socket = new WebSocket(url);
    await once(socket, "open");
    socket.send("hi");
    seen.push(String((await once(socket, "message"))[0]));
    socket.close();
    await once(socket, "close");
  }
  assert.deepEqual(seen, ["b hi", "c hi", "a hi"]);
});
