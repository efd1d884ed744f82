// The crash suite: see README.md.

import { randomInt } from "node:crypto";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { acksOf, checkSoFar } from "./check.mjs";
import { finish } from "./end.mjs";
import { Journal } from "./journal.mjs";
import { Ledger } from "./ledger.mjs";
import { Cluster } from "./nodes/cluster.mjs";
import { FAULTS } from "./nodes/faults.mjs";
import { round as nodesRound } from "./nodes/round.mjs";
import { planChat, scriptOf, WAYS } from "./plan.mjs";
import { Random } from "./random.mjs";
import { round } from "./round.mjs";
import { selfTest } from "./self-test.mjs";
import { Server } from "./server.mjs";

/** With this many chats open, no new ones are started: later lives finish them. */
const OPEN_AT_MOST = 40;
const SHOWN_AT_MOST = 60;
const CHATS_SHOWN_AT_MOST = 10;
/** Of what was sent and acknowledged, the first ones. */
const LINES_AT_MOST = 12;

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "12" },
    nodes: { type: "string", default: "1" },
    faults: { type: "string" },
    old: { type: "string" },
    chats: { type: "string" },
    seed: { type: "string", default: String(randomInt(2 ** 31)) },
    data: { type: "string", default: "remove" },
    idempotent: { type: "boolean", default: false },
    "keep-going": { type: "boolean", default: false },
    "self-test": { type: "boolean", default: false },
  },
});

async function run({ seed, kills, chats, nodes, faults, old, data, idempotent, keepGoing }) {
  console.log(`crash suite: ${kills} ${nodes > 1 ? `faults on ${nodes} nodes` : "kills"}, seed ${seed}`);
  const begun = Date.now();
  const journal = new Journal();
  const ledger = new Ledger((ref) => journal.calls.get(ref)?.plan.delayMs ?? 0);
  const counts = { kills: 0, forgeries: 0, moments: {}, faults: {} };
  const url = await ledger.open();
  const server =
    nodes > 1
      ? await Cluster.prepare(url, {
          count: nodes,
          // Its nodes outlive the rounds, so they get the script of all chats.
          script: scriptOf(Array.from({ length: kills * chats }, (_, at) => planChat(seed, at))),
          random: new Random(seed, "nodes"),
          isIdempotent: idempotent,
          old,
          hasStandby: faults?.includes("failover") ?? false,
        })
      : await Server.prepare(url, { isIdempotent: idempotent });
  const playRound = nodes > 1 ? nodesRound : round;
  const world = { server, ledger, journal, counts, kinds: faults };

  let found = [];
  try {
    for (let number = 1; counts.kills < kills && (keepGoing || found.length === 0); number += 1) {
      const isFull = [...journal.chats.values()].filter(({ isEnded }) => !isEnded).length >= OPEN_AT_MOST;
      const first = journal.chats.size;
      const plans = Array.from({ length: isFull ? 0 : chats }, (_, at) => planChat(seed, first + at));
      await playRound({ ...world, random: new Random(seed, `round-${number}`) }, plans);
      found = checkSoFar({ journal, deliveries: ledger.deliveries });
      if (server.faults.length > 0) found.push({ rule: "the server failed", text: server.faults[0] });
      if (number % 10 === 0) console.log(`${counts.kills} kills: ${progress(world)}`);
    }
    // Violations found earlier may be found again, with more detail.
    found = distinct([...found, ...(await finish({ ...world, random: new Random(seed, "end") }))]);
  } catch (error) {
    found.push({ rule: "the run broke off", text: error.stack });
  }
  if (nodes > 1 && data === "keep" && found.length > 0) await keep(server);
  const facts = nodes > 1 ? await factsOf(server, found) : [];
  server.kill();
  await ledger.close();
  if (nodes > 1 || data !== "keep" || found.length === 0) await server.remove();
  else console.log(`the data folder is kept: ${server.folder}`);
  for (const violation of found.slice(0, SHOWN_AT_MOST)) report(violation, { seed, journal, ledger });
  for (const line of facts) console.log(line);
  console.log(summary({ seed, found, begun, ...world }));
  return found.length === 0 ? 0 : 1;
}

/** The database is dumped: it ends with the suite. */
async function keep(cluster) {
  const file = join(await mkdtemp(join(tmpdir(), "holdpoint-cluster-")), "dump.sql");
  await writeFile(file, await cluster.database.dump());
  console.log(`the database is kept: ${file}`);
}

/** What the database has of the chats with violations. */
async function factsOf(cluster, found) {
  const chats = [...new Set(found.map(({ chat }) => chat).filter(Boolean))].slice(0, CHATS_SHOWN_AT_MOST);
  const lines = [];
  for (const chat of chats) lines.push(`\nthe facts of ${chat}:`, ...(await cluster.factsOf(chat)));
  return lines;
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
    for (const answer of call.answers.slice(0, LINES_AT_MOST)) console.log(`  sent   ${JSON.stringify(answer)}`);
    for (const ack of acksOf(journal, ref).slice(0, LINES_AT_MOST)) console.log(`  acked  ${JSON.stringify(ack)}`);
  }
  for (const delivery of ledger.of(ref)) console.log(`  ledger ${JSON.stringify(delivery)}`);
}

/** Acknowledged answers by way: each call counts once per way. */
function byWay(journal) {
  const ways = [...journal.calls.keys()].flatMap((ref) => [...new Set(acksOf(journal, ref).map(({ way }) => way))]);
  return WAYS.map((way) => `${way} ${ways.filter((other) => other === way).length}`).join(" ");
}

function summary({ seed, found, begun, journal, ledger, counts }) {
  const { kills, forgeries, moments, faults, interrupted, waiting } = counts;
  const at = [...Object.entries(faults), ...Object.entries(moments)].map(([kind, count]) => `${kind} ${count}`);
  return [
    `\nseed ${seed}: ${kills} kills (${at.join(" ")}), ${journal.chats.size} chats, ${journal.calls.size} calls`,
    `decisions acknowledged: ${byWay(journal)}`,
    `${journal.refusals} requests refused in an outage, ${forgeries} forgeries, ${ledger.deliveries.length} deliveries (and ${ledger.broken} that broke off)`,
    `${interrupted?.all ?? 0} interrupted (${interrupted?.undelivered ?? 0} of them not delivered)`,
    `${waiting ?? 0} waiting after the last kill, ${found.length} violations, ${Math.round((Date.now() - begun) / 1000)} s`,
  ].join("; ");
}

// `exit` ends what the run has started.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(1));

if (values["self-test"]) await selfTest();
else {
  const [kills, nodes] = [values.kills, values.nodes].map(Number);
  const chats = Number(values.chats ?? (nodes > 1 ? 12 : 6));
  const faults = values.faults?.split(",");
  const unknown = faults?.find((kind) => !FAULTS.includes(kind));
  if (unknown) throw new Error(`--faults knows ${FAULTS.join(", ")}, not ${unknown}`);
  process.exitCode = await run({ ...values, kills, chats, nodes, faults, keepGoing: values["keep-going"] });
}
