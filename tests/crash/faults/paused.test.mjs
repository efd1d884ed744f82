// A node is suspended while it connects to the endpoint, for longer than its lease. Another one takes the chat over and tells
// people that the outcome is unknown. The first one wakes up with a connection that stands: it must not send.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { test } from "node:test";
import { Ledger } from "../ledger.mjs";
import { Cluster } from "../nodes/cluster.mjs";
import { Random } from "../random.mjs";
import { pause, until } from "../wait.mjs";
import { contextOf, decide, holdsIn, question, transferTurn } from "./world.mjs";

const ROUNDS = 4;
const WITHIN_MS = 20_000;

/**
 * Stands before the ledger, in a process of its own: while it is suspended, the system completes the few connections that its
 * queue has room for, and lets all others wait. It writes a line for each byte count that it passes on.
 */
const DOOR = `
  const { connect, createServer } = require("node:net");
  const server = createServer((client) => {
    const ledger = connect(Number(process.argv[1]), "127.0.0.1");
    client.on("data", (bytes) => console.log("bytes " + bytes.length));
    for (const socket of [client, ledger]) socket.on("error", () => {});
    client.pipe(ledger).pipe(client);
  });
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => console.log("port " + server.address().port));
  process.stdin.resume().on("end", () => process.exit());
`;

class Door {
  port;
  bytes = 0;
  #process;
  #fillers = [];

  static async to(port) {
    const door = new Door();
    door.#process = spawn(process.execPath, ["-e", DOOR, String(port)], { stdio: ["pipe", "pipe", "inherit"] });
    let out = "";
    door.#process.stdout.setEncoding("utf8").on("data", (text) => {
      out += text;
      const lines = out.split("\n");
      out = lines.pop();
      for (const [what, value] of lines.map((line) => line.split(" "))) {
        if (what === "port") door.port = Number(value);
        else door.bytes += Number(value);
      }
    });
    assert.ok(await until(() => door.port, { within: WITHIN_MS }), "the door does not open");
    return door;
  }

  /** Nobody gets in from now on: fills the queue until a connection has to wait. */
  async close() {
    this.#process.kill("SIGSTOP");
    for (let at = 0; at < 16; at += 1) {
      const socket = connect(this.port, "127.0.0.1");
      socket.on("error", () => {});
      const isIn = await Promise.race([
        new Promise((resolve) => socket.once("connect", () => resolve(true))),
        pause(300).then(() => false),
      ]);
      if (!isIn) {
        socket.destroy();
        return;
      }
      this.#fillers.push(socket);
    }
    throw new Error("the queue of the door is never full");
  }

  open() {
    this.#process.kill("SIGCONT");
    for (const socket of this.#fillers.splice(0)) socket.destroy();
  }

  /** How many clients are in this state of the kernel's table. */
  clients(state) {
    const port = this.port.toString(16).toUpperCase().padStart(4, "0");
    const rows = readFileSync("/proc/net/tcp", "utf8").split("\n").slice(1);
    return rows.filter(
      (row) => row.trim().split(/\s+/)[2]?.endsWith(`:${port}`) && row.trim().split(/\s+/)[3] === state,
    ).length;
  }

  remove() {
    this.#process.kill("SIGCONT");
    this.#process.stdin.end();
  }
}

const [ESTABLISHED, SYN_SENT] = ["01", "02"];

test("a node that wakes up after its lease sends nothing", async (t) => {
  const ledger = new Ledger();
  const door = await Door.to(new URL(await ledger.open()).port);
  const refs = Array.from({ length: ROUNDS }, (_, at) => `chat-${at}`);
  const script = { modelVersion: "played", turns: [...refs, "last"].map((ref) => transferTurn(ref)) };
  const random = new Random(1, "paused");
  const url = `http://127.0.0.1:${door.port}/`;
  const cluster = await Cluster.prepare(url, { count: 2, script, random, isIdempotent: false });
  t.after(async () => {
    await cluster.remove();
    door.remove();
    await ledger.close();
  });
  await cluster.start();
  // A node takes over only after its own lease has been valid for a while.
  await pause(1500);
  const [paused, other] = cluster.nodes;
  const [here, there] = [contextOf(paused), contextOf(other)];

  for (const ref of refs) {
    const approvalId = await question(here, ref);
    await door.close();
    assert.equal((await decide(here, approvalId)).status, 200);
    assert.ok(await until(() => door.clients(SYN_SENT) > 0, { within: WITHIN_MS, every: 5 }), "it does not connect");
    paused.signal("SIGSTOP");
    door.open();
    const told = async () => (await holdsIn(there, ref))[0].outcome;
    assert.ok(await until(told, { within: WITHIN_MS }), `${ref} is not taken over`);
    assert.equal((await told()).cause, "interrupted");
    // The system has connected the node meanwhile. It finds that out when it wakes up.
    assert.ok(await until(() => door.clients(ESTABLISHED) > 0, { within: WITHIN_MS }), "no connection was made");
    assert.deepEqual([door.bytes, ledger.deliveries.length], [0, 0]);
    paused.signal("SIGCONT");
    await cluster.ready();
    await until(() => door.bytes > 0, { within: 2000 });
    assert.deepEqual([door.bytes, ledger.deliveries], [0, []], `${ref} was sent after it was told as interrupted`);
    for (const node of [here, there]) assert.equal((await holdsIn(node, ref))[0].outcome.cause, "interrupted");
  }

  // The same node sends the next one.
  assert.equal((await decide(here, await question(here, "last"))).status, 200);
  assert.ok(await until(() => ledger.of("last").length === 1, { within: WITHIN_MS }), "nothing is sent any more");
  assert.deepEqual(cluster.faults, []);
});
