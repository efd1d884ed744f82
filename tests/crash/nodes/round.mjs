// One round on several nodes: load on all of them, and a fault at a planned moment. The load goes on during the fault.

import { play } from "../load.mjs";
import { momentOf, TAKEN_UP } from "../round.mjs";
import { pause } from "../wait.mjs";
import { inject, plan } from "./faults.mjs";

/** How long the load may go on after the fault is healed. Later rounds continue what is left. */
const AFTER_MS = 1500;

/** Half of the chats begin at once, the others during the fault and after it. */
const BEGINS_WITHIN_MS = 3000;

/** How old an error may be when it is read. */
const LATE_MS = 500;

/** `chats` are new; some of the open chats of earlier rounds are continued. */
export async function round({ server: cluster, ledger, journal, random, counts, kinds }, chats) {
  const added = chats.map((plan) => journal.add(plan));
  const earlier = [...journal.chats.values()].filter((chat) => !chat.isEnded && !added.includes(chat));
  await cluster.start();
  journal.mayRefuse = () => cluster.wasTroubled(Date.now() - LATE_MS);

  const moment = momentOf(random);
  const planned = plan(cluster, random, kinds);
  let strike;
  const struck = new Promise((resolve) => {
    strike = resolve;
  });
  let left = moment.nth;
  const event = (name) => {
    if (name !== moment.kind) return;
    left -= 1;
    if (left === 0) strike();
  };
  ledger.onEvent = event;
  const timer = setTimeout(strike, moment.ms);
  const end = new AbortController();
  const context = { journal, signal: end.signal, event, forged: () => counts.forgeries++ };
  const begin = async (chat) => {
    await pause(random.chance(0.5) ? 0 : random.between(0, BEGINS_WITHIN_MS));
    await playOn(cluster, context, chat);
  };
  const all = Promise.all([...added, ...random.some(earlier, TAKEN_UP)].map(begin));
  if (moment.nth) all.then(strike);
  await struck;
  clearTimeout(timer);
  ledger.onEvent = () => {};
  const kind = left > 0 ? "late" : moment.kind;
  counts.moments[kind] = (counts.moments[kind] ?? 0) + 1;
  for (const { kind } of planned) counts.faults[kind] = (counts.faults[kind] ?? 0) + 1;
  counts.kills += planned.length;
  try {
    await inject(cluster, planned, random);
    await Promise.race([all, pause(AFTER_MS)]);
  } finally {
    // Chats that are played on would keep a run that has failed from its end.
    end.abort();
  }
  await all;
}

/** Plays a chat to its end, like a client behind a load balancer: a node that is down is replaced by another one. */
async function playOn(cluster, context, chat) {
  while (!chat.isEnded && !context.signal.aborted) {
    const begun = Date.now();
    const isTroubled = () => context.signal.aborted || cluster.wasTroubled(begun);
    const attempt = {
      ...context,
      isUp: () => !isTroubled(),
      mayRefuse: isTroubled,
      get url() {
        return cluster.url;
      },
    };
    await play(attempt, chat).catch((error) => context.journal.strange(chat, error.stack));
    await pause(20);
  }
}
