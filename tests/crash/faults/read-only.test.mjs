// A data folder that can't be written: from the start, or from some moment on while a turn is held.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pause, until } from "../wait.mjs";
import { NotStarted } from "./process.mjs";
import {
  assertValid,
  decide,
  deliveredOnce,
  get,
  messagesIn,
  question,
  quiet,
  settled,
  transferTurn,
  world,
} from "./world.mjs";

const run = (command, ...args) => spawnSync(command, args).status === 0;

/** A separate file system that can be remounted read-only while nobody writes; undefined without root. */
async function mount(t) {
  const folder = await mkdtemp(join(tmpdir(), "holdpoint-mount-"));
  const isMounted = run("mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", folder);
  t.after(() => {
    if (isMounted) run("umount", "-l", folder);
    return rm(folder, { recursive: true, force: true });
  });
  return isMounted ? folder : undefined;
}

const script = { turns: ["first", "second", "third", "fourth"].map((ref) => transferTurn(ref)) };

test("a read-only folder is refused at the start, with its name", async (t) => {
  const folder = await mount(t);
  if (!folder) return t.skip("nothing can be mounted here");
  const data = join(folder, "data");
  const { server } = await world(t, { data });
  // With an unused folder, and with one that has chats.
  for (const isUsed of [false, true]) {
    assert.ok(run("mount", "-o", `remount,${isUsed ? "rw" : "ro"}`, folder));
    if (isUsed) {
      await server.start(script);
      await server.stop();
      assert.ok(run("mount", "-o", "remount,ro", folder));
    }
    const begun = Date.now();
    const failure = await server.start(script).then(
      () => assert.fail("it started"),
      (error) => error,
    );
    assert.ok(failure instanceof NotStarted, failure);
    assert.equal(failure.code, 2, failure.said);
    assert.ok(failure.said.includes(data), `it names the folder: ${failure.said}`);
    assert.match(failure.said, /writable|read-only/i);
    assert.ok(Date.now() - begun < 10_000);
  }
  // It refused to start; it did not crash.
  server.faults = server.faults.filter((text) => !text.startsWith("it ended by itself with 2"));
});

// A mount with files open for writing can't be remounted read-only. Immutable files on ext4 fail just as hard, and that
// can be undone.
test("a folder that becomes read-only while a turn waits", async (t) => {
  const { server, ledger, context } = await world(t, { script });
  const files = async () => {
    const names = (await readdir(server.data)).filter((name) => /\.db(-wal)?$/.test(name));
    return [...names.map((name) => join(server.data, name)), server.data];
  };
  const release = async () => run("chattr", "-i", ...(await files()));
  try {
    await becomesReadOnly(t, { server, ledger, context, files, release });
  } finally {
    await release();
  }
});

async function becomesReadOnly(t, { server, ledger, context, files, release }) {
  const [first, second, third] = [
    await question(context, "first"),
    await question(context, "second"),
    await question(context, "third"),
    await question(context, "fourth"),
  ];
  if (!run("chattr", "+i", ...(await files()))) return t.skip("no file can be made immutable here");
  const isImmutable = spawnSync("cp", ["/dev/null", join(server.data, "holdpoint.db-wal")]).status !== 0;
  assert.ok(isImmutable, "the fault is there");

  const refused = await decide(context, first);
  assert.equal(refused.status, 503, JSON.stringify(refused));
  assert.ok(refused.tookMs < 5000, `${refused.tookMs} ms`);
  assert.ok(await until(async () => (await get(context, "/ready")).status === 503, { within: 5000 }), "/ready is 503");
  assert.equal((await get(context, "/health")).status, 200);
  const again = await Promise.all([decide(context, second), decide(context, third, false)]);
  for (const { status, tookMs } of again) {
    assert.equal(status, 503);
    assert.ok(tookMs < 5000, `${tookMs} ms`);
  }
  // Earlier data can still be read.
  assert.equal((await messagesIn(context, "fourth")).length, 2);
  await pause(300);
  assert.deepEqual(ledger.deliveries, [], "nothing runs before its decision is on the disk");

  assert.ok(await release());
  const isReady = async () => (await get(context, "/ready")).status === 200;
  assert.ok(await until(isReady, { within: 10_000 }), "it is ready again by itself");
  // A 503 may mean either. Repeating the same decision is safe.
  for (const [approvalId, approved] of [
    [first, true],
    [second, true],
    [third, false],
  ]) {
    const { status, body } = await decide(context, approvalId, approved);
    assert.equal(status, 200, JSON.stringify(body));
  }
  assert.equal((await settled(context, "first")).outcome.cause, "ran");
  assert.equal((await settled(context, "second")).outcome.cause, "ran");
  assert.equal((await settled(context, "third")).outcome.cause, "decision");
  await quiet(context);
  assert.deepEqual(deliveredOnce(ledger.deliveries), ["first", "second"]);
  await assertValid(context, ["first", "second", "third", "fourth"]);
  // And it is stored on disk.
  await server.stop();
  await server.start(script);
  assert.equal((await settled(context, "first")).outcome.output.receipt, ledger.of("first")[0].receipt);
  assert.deepEqual(deliveredOnce(ledger.deliveries), ["first", "second"]);
}
