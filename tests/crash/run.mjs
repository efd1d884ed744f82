// The crash suite: see README.md.

import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { acksOf, checkSoFar } from "./check.mjs";
import { finish } from "./end.mjs";
import { Journal } from "./journal.mjs";
import { Ledger } from "./ledger.mjs";
import { planChat, WAYS } from "./plan.mjs";
import { Random } from "./random.mjs";
import { round } from "./round.mjs";
import { selfTest } from "./self-test.mjs";
import { Server } from "./server.mjs";

/** With this many chats open, no new ones are started: later lives finish them. */
const OPEN_AT_MOST = 40;
const SHOWN_AT_MOST = 20;

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "12" },
    chats: { type: "string", default: "6" },
    seed: { type: "string", default: String(randomInt(2 ** 31)) },
    data: { type: "string", default: "remove" },
    idempotent: { type: "boolean", default: false },
    "self-test": { type: "boolean", default: false },
  },
});

async function run({ seed, kills, chats, data, idempotent }) {
  console.log(`crash suite: ${kills} kills, seed ${seed}`);
  const begun = Date.now();
  const journal = new Journal();
  const ledger = new Ledger((ref) => journal.calls.get(ref)?.plan.delayMs ?? 0);
  const counts = { kills: 0, forgeries: 0, moments: {} };
  const server = await Server.prepare(await ledger.open(), { isIdempotent: idempotent });
  const world = { server, ledger, journal, counts };

  let found = [];
  try {
    for (let number = 1; number <= kills && found.length === 0; number += 1) {
      const isFull = [...journal.chats.values()].filter(({ isEnded }) => !isEnded).length >= OPEN_AT_MOST;
      const first = journal.chats.size;
      const plans = Array.from({ length: isFull ? 0 : chats }, (_, at) => planChat(seed, first + at));
      await round({ ...world, random: new Random(seed, `round-${number}`) }, plans);
      found = checkSoFar({ journal, deliveries: ledger.deliveries });
      if (server.faults.length > 0) found.push({ rule: "the server failed", text: server.faults[0] });
      if (number % 10 === 0) console.log(`${number} kills: ${progress(world)}`);
    }
    // Violations found earlier may be found again, with more detail.
    found = distinct([...found, ...(await finish({ ...world, random: new Random(seed, "end") }))]);
  } catch (error) {
    found.push({ rule: "the run broke off", text: error.stack });
  }
  server.kill();
  await ledger.close();
  if (data !== "keep" || found.length === 0) await server.remove();
  else console.log(`the data folder is kept: ${server.folder}`);
  for (const violation of found.slice(0, SHOWN_AT_MOST)) report(violation, { seed, journal, ledger });
  console.log(summary({ seed, found, begun, ...world }));
  return found.length === 0 ? 0 : 1;
}

const distinct = (found) => [...new Map(found.map((violation) => [JSON.stringify(violation), violation])).values()];

function progress({ journal, ledger }) {
  const open = [...journal.chats.values()].filter(({ isEnded }) => !isEnded).length;
  return `${journal.chats.size} chats (${open} open), ${ledger.deliveries.length} deliveries`;
}

function report({ rule, chat, ref, text }, { seed, journal, ledger }) {
  console.log(`\nVIOLATION ${rule}: chat ${chat ?? "-"}, call ${ref ?? "-"}, seed ${seed}\n  ${text}`);
  const call = journal.calls.get(ref);
  if (call) {
    for (const answer of call.answers) console.log(`  sent   ${JSON.stringify(answer)}`);
    for (const ack of acksOf(journal, ref)) console.log(`  acked  ${JSON.stringify(ack)}`);
  }
  for (const delivery of ledger.of(ref)) console.log(`  ledger ${JSON.stringify(delivery)}`);
}

/** Acknowledged answers by way: each call counts once per way. */
function byWay(journal) {
  const ways = [...journal.calls.keys()].flatMap((ref) => [...new Set(acksOf(journal, ref).map(({ way }) => way))]);
  return WAYS.map((way) => `${way} ${ways.filter((other) => other === way).length}`).join(" ");
}

function summary({ seed, found, begun, journal, ledger, counts }) {
  const { kills, forgeries, moments, interrupted, waiting } = counts;
  const at = Object.entries(moments).map(([kind, count]) => `${kind} ${count}`);
  return [
    `\nseed ${seed}: ${kills} kills (${at.join(" ")}), ${journal.chats.size} chats, ${journal.calls.size} calls`,
    `decisions acknowledged: ${byWay(journal)}`,
    `${forgeries} forgeries, ${ledger.deliveries.length} deliveries (and ${ledger.broken} that broke off)`,
    `${interrupted?.all ?? 0} interrupted (${interrupted?.undelivered ?? 0} of them not delivered)`,
    `${waiting ?? 0} waiting after the last kill, ${found.length} violations, ${Math.round((Date.now() - begun) / 1000)} s`,
  ].join("; ");
}

if (values["self-test"]) await selfTest();
else process.exitCode = await run({ ...values, kills: Number(values.kills), chats: Number(values.chats) });
