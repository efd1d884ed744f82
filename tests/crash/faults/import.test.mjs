// Chats move from a folder into an empty database, in which no node has run. What is there can be verified from its first
// batch on, a changed fact is found, and nothing runs because of the move.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { Postgres } from "../nodes/postgres.mjs";
import { Server } from "../server.mjs";
import { pause } from "../wait.mjs";
import {
  assertValid,
  command,
  contextOf,
  decide,
  deliveredOnce,
  holdsIn,
  question,
  settled,
  transferTurn,
  world,
} from "./world.mjs";

const DONE = ["paid-0", "paid-1", "paid-2"];
const OPEN = ["open-0", "open-1"];
const DENIED = "denied-0";
const refs = [...DONE, ...OPEN, DENIED];
const script = { turns: refs.map((ref) => transferTurn(ref)) };

test("an import into an empty database", async (t) => {
  const { server, ledger, context } = await world(t, { script });
  const asked = new Map();
  for (const ref of refs) asked.set(ref, await question(context, ref));
  for (const ref of [...DONE, DENIED]) {
    assert.equal((await decide(context, asked.get(ref), ref !== DENIED)).status, 200);
    await settled(context, ref);
  }
  assert.equal(await server.stop(), 0);
  assert.deepEqual(deliveredOnce(ledger.deliveries), DONE);
  const file = join(server.folder, "export.jsonl");
  const exported = await command("export", "--all", "--data", server.data, "--output", file);
  assert.equal(exported.code, 0, exported.said);

  const database = await Postgres.start();
  t.after(() => database.stop());
  const log = ["--log", database.url()];
  const imported = await command("import", file, ...log);
  assert.equal(imported.code, 0, imported.said);
  const verified = await command("verify", ...log);
  assert.equal(verified.code, 0, verified.said);
  t.diagnostic(verified.said.trim().split("\n").at(-1));

  // Every batch is in a chain: a change of any of them is found, and the change back is too.
  const batches = Number(await database.sql("SELECT count(*) FROM batches"));
  assert.ok(batches >= refs.length, `${batches} batches`);
  for (let at = 0; at < batches; at += Math.ceil(batches / 8)) {
    const row = `SELECT chat, first FROM batches ORDER BY chat, first OFFSET ${at} LIMIT 1`;
    const change = (from, to) =>
      database.sql(
        `UPDATE batches SET payload = convert_to(replace(convert_from(payload, 'UTF8'), '${from}', '${to}'), 'UTF8') WHERE (chat, first) = (${row})`,
      );
    await change('"fact":', '"fact" :');
    const found = await command("verify", ...log);
    assert.notEqual(found.code, 0, `batch ${at} was changed, and verify says: ${found.said}`);
    await change('"fact" :', '"fact":');
  }
  assert.equal((await command("verify", ...log)).code, 0);

  // A node on it: what was settled stays so, what was open is open, and runs once.
  const moved = await Server.prepare(ledger.url, { place: [], more: `log = "${database.url()}"\nlease_sec = 1\n` });
  t.after(async () => {
    moved.kill();
    await pause(50);
    await moved.remove();
    assert.deepEqual(moved.faults, []);
  });
  await moved.start(script);
  const there = contextOf(moved);
  for (const ref of DONE) assert.equal((await holdsIn(there, ref))[0].outcome.cause, "ran");
  assert.equal((await holdsIn(there, DENIED))[0].outcome.cause, "decision");
  await pause(500);
  assert.deepEqual(deliveredOnce(ledger.deliveries), DONE);
  for (const ref of OPEN) {
    const [hold] = await holdsIn(there, ref);
    assert.equal(hold.state, "waiting");
    assert.equal((await decide(there, hold.approvalId)).status, 200);
    assert.equal((await settled(there, ref)).outcome.cause, "ran");
  }
  assert.deepEqual(deliveredOnce(ledger.deliveries), [...DONE, ...OPEN].toSorted());
  await assertValid(there, refs);
  const last = await command("verify", ...log);
  assert.equal(last.code, 0, last.said);
});
