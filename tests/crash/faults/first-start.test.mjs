// The server is killed in its very first start, at every moment of it. The next start works without anybody's help, on a
// folder and on an empty database.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { environment } from "../../support/process.mjs";
import { binary } from "../../support/server.mjs";
import { Ledger } from "../ledger.mjs";
import { Postgres } from "../nodes/postgres.mjs";
import { Server } from "../server.mjs";
import { contextOf, decide, deliveredOnce, IS_FULL, question, settled, transferTurn } from "./world.mjs";

const MOMENTS = IS_FULL ? 60 : 20;
const ref = (at) => `chat-${at}`;
const script = { turns: Array.from({ length: MOMENTS + 1 }, (_, at) => transferTurn(ref(at))) };

/** Runs a first start, and kills it after this time. Returns how long it took to be ready, if it was. */
async function firstStart(place, folder, killAfterMs) {
  await mkdir(folder, { recursive: true });
  const file = join(folder, "script.json");
  await writeFile(file, JSON.stringify(script));
  const args = ["serve", "--listen", "127.0.0.1:0", ...place, "--model", `script:${file}`];
  const begun = performance.now();
  const child = spawn(binary(), args, { env: environment(), stdio: ["ignore", "pipe", "ignore"], cwd: folder });
  const timer = setTimeout(() => child.kill("SIGKILL"), killAfterMs);
  let readyAfterMs;
  child.stdout.once("data", () => {
    readyAfterMs = performance.now() - begun;
    child.kill("SIGKILL");
  });
  await new Promise((resolve) => child.once("close", resolve));
  clearTimeout(timer);
  return readyAfterMs;
}

/** Kills a first start at each of the moments, and uses what is left. `placeOf` makes a new place. */
async function killAtEachMoment(t, placeOf) {
  const folder = await mkdtemp(join(tmpdir(), "holdpoint-first-"));
  const ledger = new Ledger();
  const url = await ledger.open();
  t.after(async () => {
    await ledger.close();
    await rm(folder, { recursive: true });
  });
  const wholeMs = await firstStart(await placeOf(MOMENTS, folder), join(folder, "whole"), 60_000);
  assert.ok(wholeMs, "a first start works");
  let early = 0;
  for (let at = 0; at < MOMENTS; at += 1) {
    const place = await placeOf(at, folder);
    const readyMs = await firstStart(place, join(folder, `first-${at}`), (wholeMs * (at + 0.5)) / MOMENTS);
    if (readyMs === undefined) early += 1;
    const server = await Server.prepare(url, { place });
    try {
      await server.start(script);
      const context = contextOf(server);
      assert.equal((await decide(context, await question(context, ref(at)))).status, 200);
      assert.equal((await settled(context, ref(at))).outcome.cause, "ran");
    } finally {
      server.kill();
      await server.gone().catch(() => {});
      await server.remove();
    }
    assert.deepEqual(server.faults, []);
  }
  t.diagnostic(`a first start takes ${Math.round(wholeMs)} ms; ${early} of ${MOMENTS} were killed before it was ready`);
  assert.equal(deliveredOnce(ledger.deliveries).length, MOMENTS);
}

test("a first start on a folder is killed", (t) =>
  killAtEachMoment(t, async (at, folder) => ["--data", join(folder, `data-${at}`)]));

test("a first start on an empty database is killed", async (t) => {
  const database = await Postgres.start();
  t.after(() => database.stop());
  await killAtEachMoment(t, async (at) => {
    await database.sql(`CREATE DATABASE first_${at}`);
    return ["--log", database.url(database.port, `first_${at}`)];
  });
});
