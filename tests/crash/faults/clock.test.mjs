// Three nodes, one with a clock that is an hour ahead, one an hour behind. A deadline means the same on each of them, and
// nothing runs after it.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Ledger } from "../ledger.mjs";
import { Postgres } from "../nodes/postgres.mjs";
import { Server } from "../server.mjs";
import { pause, until } from "../wait.mjs";
import { contextOf, decide, deliveredOnce, get, holdsIn, question, transferTurn } from "./world.mjs";

const HOUR_SEC = 3600;
const LONG_SEC = 600;
const SHORT_SEC = 5;
/** What a node's own time and the load of the machine may add to a deadline. */
const LATE_MS = 20_000;

/** How well a node has to know the time. It is off by an hour. */
const CLOSE_MS = 3000;

const offsets = { right: 0, ahead: HOUR_SEC, behind: -HOUR_SEC };
const names = Object.keys(offsets);

const toolOf = (name, url, seconds) => `[tools.${name}]
execution = "server"
description = "An entry in the ledger"
url = "${url}"
allow_private = true
approval = "always"
approval_timeout_sec = ${seconds}
input_schema = { type = "object", properties = { ref = { type = "string" }, amount = { type = "number" } } }
`;

test("a node whose clock is off", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "holdpoint-clock-"));
  const library = join(folder, "clock.so");
  const source = fileURLToPath(new URL("clock.c", import.meta.url));
  await promisify(execFile)("cc", ["-shared", "-fPIC", "-o", library, source, "-ldl"]);
  const [ledger, database] = [new Ledger(), await Postgres.start()];
  const url = await ledger.open();
  const nodes = {};
  t.after(async () => {
    for (const node of Object.values(nodes)) node.kill();
    await pause(50);
    await Promise.all([database.stop(), ledger.close(), rm(folder, { recursive: true })]);
    for (const node of Object.values(nodes)) {
      await node.remove();
      assert.deepEqual(node.faults, []);
    }
  });

  // Each question is asked on one node and decided on the next one.
  const refs = names.flatMap((name) => [`long-${name}`, `short-${name}`]);
  const script = { turns: refs.map((ref) => transferTurn(ref, ref.split("-")[0])) };
  const more = `log = "${database.url()}"\nlease_sec = 1\n${toolOf("long", url, LONG_SEC)}${toolOf("short", url, SHORT_SEC)}`;
  for (const name of names) {
    const env = { LD_PRELOAD: library, CLOCK_OFFSET_SEC: String(offsets[name]) };
    nodes[name] = await Server.prepare(url, { place: [], more, env });
    await nodes[name].start(script);
  }
  const contexts = Object.fromEntries(names.map((name) => [name, contextOf(nodes[name])]));

  // Each node knows by how much it is off, and says so.
  for (const name of names) {
    const found = async () => {
      const { clockOffsetMs = 0 } = (await get(contexts[name], "/api/status")).json();
      return Math.abs(clockOffsetMs + 1000 * offsets[name]) < 5000;
    };
    assert.ok(await until(found, { within: 10_000 }), `${name}: ${(await get(contexts[name], "/api/status")).text}`);
    assert.equal(/clock differs from the database's/.test(nodes[name].said), name !== "right", nodes[name].said);
  }

  const asked = new Map();
  for (const name of names) {
    for (const kind of ["long", "short"]) {
      const ref = `${kind}-${name}`;
      const begun = Date.now();
      asked.set(ref, { approvalId: await question(contexts[name], ref), begun, asked: Date.now() });
    }
  }

  // The deadline of each, as any node tells it, is that of the real time.
  for (const [ref, { begun, asked: done }] of asked) {
    const seconds = ref.startsWith("long") ? LONG_SEC : SHORT_SEC;
    for (const name of names) {
      const [hold] = await holdsIn(contexts[name], ref);
      if (hold.state === "settled" && ref.startsWith("short")) continue;
      const expires = Date.parse(hold.expiresAt) - 1000 * seconds;
      assert.ok(expires > begun - CLOSE_MS && expires < done + CLOSE_MS, `${ref} on ${name}: ${hold.expiresAt}`);
    }
  }

  // The short ones expire once their time is over, and not before.
  for (const [ref, { begun, asked: done }] of asked) {
    if (!ref.startsWith("short")) continue;
    const isOver = async () => (await holdsIn(contexts.right, ref))[0].state === "settled";
    assert.ok(await until(isOver, { within: Math.max(done + 1000 * SHORT_SEC + LATE_MS - Date.now(), 1000) }), ref);
    const [hold] = await holdsIn(contexts.right, ref);
    assert.equal(hold.outcome.cause, "expired");
    const at = Date.parse(hold.outcome.at);
    assert.ok(at >= begun + 1000 * SHORT_SEC - CLOSE_MS, `${ref} expired at ${hold.outcome.at}`);
  }
  assert.deepEqual(ledger.deliveries, []);

  // The long ones are all open still, on every node, and run once somebody says yes on any of them.
  for (const [at, name] of names.entries()) {
    const ref = `long-${name}`;
    for (const other of names)
      assert.equal((await holdsIn(contexts[other], ref))[0].state, "waiting", `${ref} on ${other}`);
    const decider = contexts[names[(at + 1) % names.length]];
    assert.equal((await decide(decider, asked.get(ref).approvalId)).status, 200);
    const isOver = async () => (await holdsIn(contexts.right, ref))[0].outcome?.cause === "ran";
    assert.ok(await until(isOver, { within: 8000 }), JSON.stringify(await holdsIn(contexts.right, ref)));
    // Too late, on whichever node.
    const late = await decide(contexts[name], asked.get(`short-${name}`).approvalId);
    assert.notEqual(late.status, 200, JSON.stringify(late.body));
  }
  assert.deepEqual(deliveredOnce(ledger.deliveries), names.map((name) => `long-${name}`).toSorted());
});
