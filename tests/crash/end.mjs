// The last process, which is not killed. Everything settles, open approval requests are decided, and the server's whole
// record is read.

import { checkEnd, checkInbox, checkSoFar } from "./check.mjs";
import { refusals } from "./histories.mjs";
import { holdsOf, list, read, send } from "./http.mjs";
import { settle } from "./load.mjs";
import { scriptOf } from "./plan.mjs";
import { until } from "./wait.mjs";

/** How long cut-off turns may take to settle after the start. */
const RESTS_WITHIN_MS = 30_000;
const SETTLES_WITHIN_MS = 60_000;
const ANSWERS_WITHIN_MS = 20_000;
const AT_ONCE = 8;

/** Returns the violations. */
export async function finish({ server, ledger, journal, random, counts }) {
  const open = [...journal.chats.values()].filter(({ isEnded }) => !isEnded);
  await server.start(scriptOf(open.map(({ plan }) => plan)));
  const ignore = () => {};
  const context = {
    get url() {
      return server.url;
    },
    journal,
    event: ignore,
    forged: ignore,
    /** A cut-off turn is ended or held, although nobody opens its chat. */
    isQuiet: async () => (await list(context, "/api/chats")).every(({ isRunning }) => !isRunning),
    /** One signal per request: listeners of thousands of requests would pile up on a shared one. */
    get signal() {
      return AbortSignal.timeout(ANSWERS_WITHIN_MS);
    },
  };

  await until(context.isQuiet, { within: RESTS_WITHIN_MS });
  const atRest = await stateOf(context);
  counts.waiting = atRest.inbox.length;
  const found = checkInbox(atRest);

  const listInbox = () => list(context, "/api/approvals");
  await settle(context, listInbox, random, { within: SETTLES_WITHIN_MS });

  const end = { ...(await stateOf(context)), deaths: server.deaths };
  const facts = { journal, deliveries: ledger.deliveries, end };
  counts.interrupted = interrupted(end, ledger);
  for (const text of server.faults) found.push({ rule: "the server failed", text });
  found.push(...checkSoFar(facts), ...checkEnd(facts), ...checkInbox(end));
  server.kill();
  await server.gone();
  return found;
}

/** The server's record of every chat that the journal knows, and its inbox. */
async function stateOf(context) {
  const inbox = await list(context, "/api/approvals");
  const listed = new Map((await list(context, "/api/chats")).map((chat) => [chat.id, chat]));
  const known = [...context.journal.chats.values()];
  const chats = new Map();
  const reader = async () => {
    for (let chat = known.pop(); chat; chat = known.pop()) {
      const calls = await holdsOf(context, chat, { calls: "all" });
      if (!calls) continue;
      const messages = await read(await send(context, `/api/chat/${chat.plan.id}/messages`));
      const { isRunning, holds } = listed.get(chat.plan.id) ?? { isRunning: "not listed", holds: 0 };
      chats.set(chat.plan.id, { isRunning, holds, calls, messages, refused: await refusals(messages) });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, reader));
  return { inbox, chats };
}

/** How many calls were cut off, and how many of them never reached the ledger. */
function interrupted({ chats }, ledger) {
  const calls = [...chats.values()].flatMap(({ calls }) => calls);
  const cut = calls.filter(({ outcome }) => outcome?.cause === "interrupted");
  return { all: cut.length, undelivered: cut.filter(({ input }) => ledger.of(input.ref).length === 0).length };
}
