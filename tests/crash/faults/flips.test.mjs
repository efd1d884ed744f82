// Flipped bytes in the database. The server refuses the file and names it, or every chat is unchanged or reported as
// unreadable, or `holdpoint verify` finds the change. No hold is lost silently, and nothing is delivered.

import assert from "node:assert/strict";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Random } from "../random.mjs";
import { until } from "../wait.mjs";
import { NotStarted } from "./process.mjs";
import {
  command,
  decide,
  get,
  IS_FULL,
  inbox,
  metric,
  question,
  quiet,
  SEED,
  settled,
  transferTurn,
  world,
} from "./world.mjs";

const FLIPS = IS_FULL ? 200 : 24;
const WAITING = ["wait-1", "wait-2", "wait-3", "wait-4"];
const SETTLED = ["done-1", "done-2", "done-3", "denied-1"];
const CHATS = [...WAITING, ...SETTLED];
/** The rows of waiting chats are compared with their facts every 10 s. */
const MENDED_WITHIN_MS = 30_000;

/** The violations. */
const RULES = [
  "the server hangs, panics, delivers or refuses without naming the file",
  "a hold is lost without a trace",
  "an unreadable chat says nothing helpful, is not counted or can't be deleted",
  "a chat that can't be read is something else than 500",
  "a chat was changed or is not found, and `verify` says that nothing was",
];
const [FAILS, LOST, UNHELPFUL, NOT_500, CHANGED] = RULES;

const script = { turns: CHATS.map((ref) => transferTurn(ref)) };

/** Everything that a person or a client can see of a chat. */
async function account(context, chat) {
  const [holds, messages] = await Promise.all([
    get(context, `/api/chat/${chat}/holds?calls=all`),
    get(context, `/api/chat/${chat}/messages`),
  ]);
  return { status: [holds.status, messages.status], holds: holds.text, messages: messages.text };
}

const accounts = async (context) =>
  new Map(await Promise.all(CHATS.map(async (id) => [id, await account(context, id)])));

const waitingIds = async (context) => (await inbox(context)).map(({ approvalId, chatId }) => `${chatId} ${approvalId}`);

/** A stopped server with a few chats, all in one file, and its account of them. */
async function prepare(t) {
  const made = await world(t, { script });
  const { server, context, ledger } = made;
  for (const ref of WAITING) await question(context, ref);
  for (const ref of SETTLED) {
    const { status } = await decide(context, await question(context, ref), !ref.startsWith("denied"));
    assert.equal(status, 200);
    await settled(context, ref);
  }
  await quiet(context);
  const before = { chats: await accounts(context), inbox: await waitingIds(context) };
  assert.equal(await server.stop(), 0);
  const file = await readFile(join(server.data, "holdpoint.db"));
  assert.ok(file.length > 8192, "the write-ahead log was taken over into the file");
  return { ...made, before, file, delivered: ledger.deliveries.length };
}

/** Flips one byte. Returns `{kind, found}`: the effect and the violations. */
async function flip({ server, context, ledger, before, file, delivered }, { offset, mask }) {
  const damaged = Buffer.from(file);
  damaged[offset] ^= mask;
  await rm(server.data, { recursive: true, force: true });
  await mkdir(server.data, { mode: 0o700 });
  await writeFile(join(server.data, "holdpoint.db"), damaged);
  try {
    await server.start(script);
  } catch (error) {
    if (!(error instanceof NotStarted)) throw error;
    server.faults = server.faults.filter((text) => !text.startsWith("it ended by itself"));
    const isNamed = error.said.includes("holdpoint.db") && error.code === 2;
    return { kind: "refused", found: isNamed ? [] : [[FAILS, `${error.code}: ${error.said}`]] };
  }
  const found = [];
  const after = await accounts(context);
  const listed = await waitingIds(context).catch((error) => {
    found.push([LOST, `the inbox: ${error.message}`]);
    return before.inbox;
  });
  const [unreadable, changed] = [[], []];
  for (const [id, now] of after) {
    if (now.status.includes(500)) unreadable.push(id);
    // Its id is another one.
    else if (now.status.every((status) => status === 404)) changed.push(`${id}: it is not found`);
    else if (now.status.some((status) => status !== 200)) found.push([NOT_500, `${id}: ${JSON.stringify(now)}`]);
    else if (now.holds !== before.chats.get(id).holds || now.messages !== before.chats.get(id).messages) {
      changed.push(`${id}: ${difference(before.chats.get(id), now)}`);
    }
  }
  // Any mention of the chat is a trace. If an id was changed, its entry appears under the new id.
  const isTraced = (entries) => (entry) => {
    const chat = entry.split(" ")[0];
    const isTold = after.get(chat).status.some((status) => status !== 200);
    return isTold || entries.some((other) => other.startsWith(`${chat} `));
  };
  if (!before.inbox.every(isTraced(listed))) {
    // A damaged row of a hold is written anew from the facts.
    let mended = listed;
    const isMended = async () => {
      mended = await waitingIds(context).catch(() => mended);
      return before.inbox.every(isTraced(mended));
    };
    await until(isMended, { within: MENDED_WITHIN_MS, every: 500 });
    const lost = before.inbox.filter((entry) => !isTraced(mended)(entry));
    for (const entry of lost) found.push([LOST, `${entry} is not in the inbox any more`]);
  }
  for (const id of unreadable) found.push(...(await unreadableChat(context, id, after.get(id))));
  if (ledger.deliveries.length > delivered) found.push([FAILS, "something was delivered"]);
  if ((await server.stop()) !== 0) found.push([FAILS, `it ended with ${server.code}`]);
  // A text, a number or an id may be another one that can be read just as well.
  if (changed.length > 0 && (await command("verify", "--data", server.data)).code === 0) {
    found.push(...changed.map((text) => [CHANGED, text]));
  }
  return { kind: unreadable.length > 0 ? "unreadable" : changed.length > 0 ? "changed" : "intact", found };
}

/** An unreadable chat says what to do, is counted, and can be deleted. */
async function unreadableChat(context, id, { holds, messages }) {
  const found = [];
  if (!/delete it|restore/.test(holds + messages))
    found.push([UNHELPFUL, `${id} does not say what to do: ${holds} ${messages}`]);
  const counts = ["holdpoint_unreadable_chats_total", "holdpoint_unreadable_heads_total"];
  const [chats, heads] = await Promise.all(counts.map((name) => metric(context, name)));
  if (chats + heads === 0) found.push([UNHELPFUL, `${id} is not counted`]);
  const deleted = await fetch(`${context.url}/api/chat/${id}`, { method: "DELETE", signal: context.signal });
  // If a page of the file itself is damaged, nothing can be deleted from it, and the response says so.
  const text = await deleted.text();
  const isDamage = deleted.status === 500 && text.includes("restore a backup");
  if (deleted.status !== 204 && !isDamage)
    found.push([UNHELPFUL, `${id} cannot be deleted: ${deleted.status} ${text}`]);
  return found;
}

/** The first difference between two accounts, with its context. */
function difference(before, now) {
  const [a, b] = [before, now].map(({ holds, messages }) => `${holds} ${messages}`);
  const at = [...a].findIndex((char, index) => char !== b[index]);
  return `${a.slice(Math.max(0, at - 40), at + 40)} | ${b.slice(Math.max(0, at - 40), at + 40)}`;
}

test(`${FLIPS} flipped bytes anywhere in the file`, async (t) => {
  const random = new Random(SEED, "flips");
  const prepared = await prepare(t);
  const counts = {};
  const found = [];
  for (let number = 0; number < FLIPS; number += 1) {
    const place = { offset: random.between(0, prepared.file.length - 1), mask: random.between(1, 255) };
    const result = await flip(prepared, place).catch((error) => ({ kind: "failed", found: [[FAILS, error.stack]] }));
    counts[result.kind] = (counts[result.kind] ?? 0) + 1;
    for (const [rule, text] of result.found)
      found.push({ rule, text: `byte ${place.offset} ^ ${place.mask}: ${text}` });
    if (prepared.server.isUp) await prepared.server.stop();
  }
  t.diagnostic(`seed ${SEED}: ${JSON.stringify(counts)}`);
  for (const rule of RULES) {
    const own = found.filter((one) => one.rule === rule).map(({ text }) => text);
    await t.test(`never: ${rule}`, () => assert.deepEqual(own, []));
  }
});
