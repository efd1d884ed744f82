// The synchronous standby is away, and an operator ends the wait of the commits: PostgreSQL keeps them locally, with a warning.
// Then the primary is lost, and the standby takes its place. No decision that was acknowledged is lost, and nothing runs twice.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Ledger } from "../ledger.mjs";
import { Postgres } from "../nodes/postgres.mjs";
import { Server } from "../server.mjs";
import { pause, until } from "../wait.mjs";
import { contextOf, decide, deliveredOnce, holdsIn, question, transferTurn } from "./world.mjs";

const CHATS = 4;
const DENIED = "chat-3";
const CANCELS_FOR_MS = 3000;
const WITHIN_MS = 30_000;

const refs = Array.from({ length: CHATS }, (_, at) => `chat-${at}`);

/** Ends the wait of every commit for the standby. Returns how many there were. */
const CANCEL = "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

test("a commit whose wait for the standby was cancelled is not confirmed", async (t) => {
  const [ledger, primary] = [new Ledger(), await Postgres.start()];
  const standby = await primary.standby();
  await primary.requireStandby();
  assert.ok(await until(() => primary.isReplicated().catch(() => false), { within: WITHIN_MS }), "no standby");
  const both = primary.url(`${primary.port},127.0.0.1:${standby.port}`);
  const server = await Server.prepare(await ledger.open(), { place: [], more: `log = "${both}"\nlease_sec = 1\n` });
  t.after(async () => {
    server.kill();
    await pause(50);
    await Promise.all([primary.stop(), standby.stop(), ledger.close(), server.remove()]);
    assert.deepEqual(server.faults, []);
  });
  await server.start({ turns: refs.map((ref) => transferTurn(ref)) });
  const patient = { url: server.url, signal: AbortSignal.timeout(120_000) };
  const approvals = new Map();
  for (const ref of refs) approvals.set(ref, await question(contextOf(server), ref));

  await standby.halt();
  const acknowledged = new Map();
  const answered = refs.map(async (ref) => {
    const answer = await decide(patient, approvals.get(ref), ref !== DENIED).catch(() => undefined);
    if (answer?.status === 200) acknowledged.set(ref, Date.now());
    return answer?.status;
  });
  let cancelled = 0;
  const ends = Date.now() + CANCELS_FOR_MS;
  while (Date.now() < ends || cancelled === 0) {
    cancelled += Number(await primary.sql(CANCEL));
    await pause(50);
  }
  t.diagnostic(`${cancelled} waits were cancelled`);
  // The primary has the decisions, and nobody else.
  assert.deepEqual([...acknowledged.keys()], [], "acknowledged, and only one machine has it");
  assert.deepEqual(ledger.deliveries, [], "it ran, and only one machine knows that it was approved");

  const lostAt = Date.now();
  await primary.halt();
  await standby.resume();
  await standby.promote();
  const isReady = () => fetch(`${server.url}/ready`, { signal: AbortSignal.timeout(2000) }).then(({ ok }) => ok);
  assert.ok(
    await until(() => isReady().catch(() => false), { within: WITHIN_MS }),
    `not ready: ${server.said.slice(-2000)}`,
  );
  const statuses = await Promise.all(answered);
  t.diagnostic(`answers to the decisions: ${statuses.join(", ")}`);
  for (const at of acknowledged.values()) assert.ok(at > lostAt);

  // What was acknowledged after that stands; what was not is asked again.
  let again = 0;
  for (const ref of refs) {
    const isOpen = async () => (await holdsIn(contextOf(server), ref))[0].state === "waiting";
    if (await isOpen()) {
      assert.ok(!acknowledged.has(ref), `${ref}: an acknowledged decision is lost`);
      again += 1;
      assert.equal((await decide(contextOf(server), approvals.get(ref), ref !== DENIED)).status, 200);
    }
    const cause = async () => (await holdsIn(contextOf(server), ref))[0].outcome?.cause;
    assert.ok(await until(cause, { within: WITHIN_MS }), `${ref} has no outcome`);
    assert.equal(await cause(), ref === DENIED ? "decision" : "ran");
  }
  t.diagnostic(`${again} of ${CHATS} were asked again`);
  assert.deepEqual(
    deliveredOnce(ledger.deliveries),
    refs.filter((ref) => ref !== DENIED),
  );
  assert.ok(ledger.deliveries.every(({ arrivedAt }) => arrivedAt > lostAt));
});
