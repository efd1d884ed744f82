// One life of the server: it starts, is under load, and is killed at a planned moment.

import { play } from "./load.mjs";
import { scriptOf } from "./plan.mjs";
import { pause } from "./wait.mjs";

/** How long to wait for an event. */
const PATIENCE_MS = 1500;
/** How long to read what the dead server had sent. */
const DRAIN_MS = 1000;
/** How many chats of earlier rounds are continued. */
export const TAKEN_UP = 10;

/** Most lives are short. A few are long enough for everything to finish. */
const TIMES = ["soon", "soon", "soon", "late"];
const EVENTS = ["inbox", "chat", "delivery", "delivered"];

/**
 * When to kill: after a time, or at the nth occurrence of an event. "inbox" is right after a 200 of the inbox, "chat"
 * after one of a chat request or its equivalent on the socket, "delivery" when the ledger has a call and has not
 * answered, "delivered" right after it answered.
 */
export function momentOf(random) {
  const kind = random.pick([...TIMES, ...EVENTS]);
  if (kind === "soon") return { kind, ms: random.between(0, 400) };
  if (kind === "late") return { kind, ms: random.between(400, 1500) };
  return { kind, nth: random.between(1, 4), ms: PATIENCE_MS };
}

/** Runs until the kill. `chats` are new; some of the open chats of earlier rounds are continued. */
export async function round({ server, ledger, journal, random, counts }, chats) {
  const added = chats.map((plan) => journal.add(plan));
  const open = [...journal.chats.values()].filter(({ isEnded }) => !isEnded);
  const earlier = open.filter((chat) => !added.includes(chat));
  await server.start(scriptOf(open.map(({ plan }) => plan)));

  const moment = momentOf(random);
  const end = new AbortController();
  let kill;
  const killed = new Promise((resolve) => {
    kill = () => {
      server.kill();
      resolve();
    };
  });
  let left = moment.nth;
  const event = (name) => {
    if (name !== moment.kind) return;
    left -= 1;
    if (left === 0) kill();
  };
  ledger.onEvent = event;
  const timer = setTimeout(kill, moment.ms);
  const context = {
    url: server.url,
    journal,
    signal: end.signal,
    event,
    forged: () => counts.forgeries++,
    isUp: () => server.isUp,
  };
  const played = [...added, ...random.some(earlier, TAKEN_UP)].map((chat) =>
    play(context, chat).catch((error) => journal.strange(chat, error.stack)),
  );
  const all = Promise.all(played);
  // No more events can occur.
  if (moment.nth) all.then(kill);
  await killed;
  clearTimeout(timer);
  ledger.onEvent = () => {};
  counts.kills += 1;
  // If the event did not occur, it counts as a kill after a time.
  const kind = left > 0 ? "late" : moment.kind;
  counts.moments[kind] = (counts.moments[kind] ?? 0) + 1;
  await server.gone();
  await Promise.race([all, pause(DRAIN_MS)]);
  end.abort();
  await all;
}
