// A torn write-ahead log: the server was killed under load, and the end of the log did not reach the disk, or was
// corrupted. The torn transactions are lost, which no program can prevent. Everything before them must be there, and
// nothing may run because of the loss.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { environment } from "../../support/process.mjs";
import { binary } from "../../support/server.mjs";
import { acksOf, checkSoFar } from "../check.mjs";
import { refusals } from "../histories.mjs";
import { list } from "../http.mjs";
import { Journal } from "../journal.mjs";
import { play } from "../load.mjs";
import { planChat, scriptOf } from "../plan.mjs";
import { Random } from "../random.mjs";
import { pause, until } from "../wait.mjs";
import { decide, deliveredOnce, get, holdsIn, IS_FULL, inbox, messagesIn, quiet, SEED, world } from "./world.mjs";

const TEARS = IS_FULL ? 50 : 10;
const CHATS = 14;
const LOAD_MS = 600;

const HEADER = 32;
const FRAME_HEADER = 24;

/** Where each transaction ends in a write-ahead log, by its frames. */
function commits(wal) {
  const frame = FRAME_HEADER + wal.readUInt32BE(8);
  const salt = wal.subarray(16, 24);
  const ends = [];
  for (let at = HEADER; at + frame <= wal.length; at += frame) {
    if (!wal.subarray(at + 8, at + 16).equals(salt)) break;
    if (wal.readUInt32BE(at + 4) > 0) ends.push(at + frame);
  }
  return { frame, ends };
}

/** The chats' facts, as `holdpoint export` reads them, by chat id. */
function facts(data) {
  const run = spawnSync(binary(), ["export", "--all", "--data", data], { env: environment(), maxBuffer: 1 << 28 });
  assert.equal(run.status, 0, String(run.stderr));
  const chats = new Map();
  for (const line of String(run.stdout).split("\n").filter(Boolean)) {
    const { type, chat, facts } = JSON.parse(line);
    if (type === "chat") chats.set(chat, []);
    if (type === "facts") chats.get(chat).push(...facts.map((fact) => JSON.stringify(fact)));
  }
  return chats;
}

/** The folder of a server that was killed under load. */
async function killedUnderLoad(t) {
  const journal = new Journal();
  const plans = Array.from({ length: CHATS }, (_, number) => planChat(SEED, number));
  const delayOf = (ref) => journal.calls.get(ref)?.plan.delayMs ?? 0;
  const { server, ledger } = await world(t, { script: scriptOf(plans), delayOf });
  const end = new AbortController();
  const context = { url: server.url, journal, signal: end.signal, event() {}, forged() {}, isUp: () => server.isUp };
  const chats = plans.map((plan) => journal.add(plan));
  const played = Promise.all(chats.map((chat) => play(context, chat)));
  await pause(LOAD_MS);
  server.kill();
  await server.gone();
  await Promise.race([played, pause(500)]);
  end.abort();
  await played;
  assert.deepEqual(checkSoFar({ journal, deliveries: ledger.deliveries }), []);
  const kept = join(server.folder, "kept");
  await cp(server.data, kept, { recursive: true });
  return { server, ledger, journal, plans, kept, before: [...ledger.deliveries] };
}

/**
 * Truncates the log, or changes a byte of the last transaction. Returns what was done and where the last whole
 * transaction ends.
 */
function tear(wal, random) {
  const { frame, ends } = commits(wal);
  const last = ends.at(-1);
  if (random.chance(0.3)) {
    const at = random.between(last - frame, last - 1);
    const torn = Buffer.from(wal);
    torn[at] ^= random.between(1, 255);
    return { torn, what: `byte ${at} of ${last} flipped`, whole: ends.filter((end) => end <= last - frame).at(-1) };
  }
  // A few bytes, or a large part of the log.
  const cut = random.chance(0.5)
    ? random.between(1, frame)
    : random.between(1, Math.min(40 * frame, last - HEADER - 1));
  const length = last - cut;
  return {
    torn: wal.subarray(0, length),
    what: `cut from ${last} to ${length}`,
    whole: ends.filter((end) => end <= length).at(-1),
  };
}

async function place(data, kept, wal) {
  await rm(data, { recursive: true, force: true });
  await mkdir(data, { mode: 0o700 });
  await cp(join(kept, "holdpoint.db"), join(data, "holdpoint.db"));
  await writeFile(join(data, "holdpoint.db-wal"), wal);
}

const isPrefix = (short, long) => short.every((line, at) => line === long[at]);

test(`${TEARS} torn write-ahead logs`, async (t) => {
  const made = await killedUnderLoad(t);
  const { server, kept } = made;
  const wal = await readFile(join(kept, "holdpoint.db-wal"));
  const all = facts(kept);
  const random = new Random(SEED, "tears");
  for (let number = 0; number < TEARS; number += 1) {
    const { torn, what, whole } = tear(wal, random);
    await t.test(what, async (t) => {
      // The log before the torn transactions, by its frames.
      await place(server.data, kept, wal.subarray(0, whole ?? HEADER));
      const expected = facts(server.data);
      await place(server.data, kept, torn);
      const left = facts(server.data);
      assert.deepEqual(left, expected, "exactly what was in the torn frames is lost");
      const lost = new Map([...all].map(([id, lines]) => [id, lines.slice(left.get(id)?.length ?? 0)]));
      for (const [id, lines] of left) assert.ok(isPrefix(lines, all.get(id)), `${id} is not what it was`);
      t.diagnostic(`${[...lost.values()].flat().length} facts were in the torn frames, and are lost`);
      await place(server.data, kept, torn);
      try {
        await goesOn(made, new Set(left.keys()), lost);
      } finally {
        server.kill();
        await server.gone();
      }
    });
  }
});

/**
 * Whether any fact about this call was lost. If the call itself was lost, the model has made it again, with a new id.
 */
const isAbout = (facts, kept, ref) =>
  facts.some((fact) => fact.includes(`"${kept?.toolCallId}"`) || fact.includes(`"${ref}"`));

/** The server starts on it, and everything that was not lost is still in force. */
async function goesOn({ server, ledger, journal, plans, before }, left, lost) {
  ledger.deliveries = [...before];
  await server.start(scriptOf(plans));
  const context = {
    url: server.url,
    get signal() {
      return AbortSignal.timeout(8000);
    },
  };
  assert.equal((await get(context, "/ready")).status, 200);
  await quiet(context);
  const listed = new Set((await list(context, "/api/chats")).map(({ id }) => id));
  assert.deepEqual(listed, left, "every chat that is not lost is listed");
  for (const [ref, { plan }] of journal.calls) {
    if (!listed.has(plan.chat)) continue;
    const holds = await holdsIn(context, plan.chat);
    const kept = holds.find(({ input }) => input.ref === ref);
    const acks = acksOf(journal, ref);
    if (acks.length === 0 || isAbout(lost.get(plan.chat), kept, ref)) continue;
    // Acknowledged, and in none of the torn frames.
    assert.ok(kept?.decision, `the decision about ${ref} is gone: ${JSON.stringify(acks)}`);
    const other = acks.find(({ approved }) => approved !== null && approved !== (kept.decision.kind === "approve"));
    assert.equal(other, undefined, `${kept.decision.kind} stands`);
  }
  // On its own it repeated nothing, and ran nothing without an approval.
  deliveredOnce(ledger.deliveries);
  assert.deepEqual(checkSoFar({ journal, deliveries: ledger.deliveries }), []);
  // Open approval requests can be decided, and everything ends.
  const answered = await until(
    async () => {
      const waiting = await inbox(context);
      for (const { approvalId } of waiting) assert.equal((await decide(context, approvalId, false)).status, 200);
      return waiting.length === 0;
    },
    { within: 8000 },
  );
  assert.ok(answered, "everything that waited is answered");
  await quiet(context);
  for (const id of listed) assert.deepEqual(await refusals(await messagesIn(context, id)), [], `${id} is invalid`);
  deliveredOnce(ledger.deliveries);
}
