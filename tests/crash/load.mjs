// One chat, as far as it gets before the server dies: it sends its message, decides what is held, and polls until it
// ends. The next process continues it.

import { changedInput, forge } from "./forge.mjs";
import { refusals } from "./histories.mjs";
import { Down, holdsOf, read, send } from "./http.mjs";
import { lastWords, WAYS } from "./plan.mjs";
import { until } from "./wait.mjs";
import * as chat from "./ways/chat.mjs";
import * as inbox from "./ways/inbox.mjs";
import * as live from "./ways/live.mjs";
import * as stream from "./ways/stream.mjs";
import * as ws from "./ways/ws.mjs";

const ways = { inbox, chat, stream, live, ws };

/** How long a chat that is neither held nor ended may take to change, in one round. */
const MOVES_WITHIN_MS = 3000;

/** How often a disconnected client resends its message, with the same id, although the server has it. */
const ASKS_AGAIN = 0.15;

/** How often a decision from an earlier process is repeated, and how often it is contradicted. */
const ECHOES = 0.4;
const OPPOSITE = 0.4;

const isWaiting = ({ state }) => state === "waiting";
const isSettled = ({ state }) => state === "settled";

/** Continues a chat until it ends or the server is down. */
export async function play(context, chat) {
  try {
    if (!chat.isAcknowledged || chat.plan.random.chance(ASKS_AGAIN)) await ways[chat.plan.askBy].ask(context, chat);
    await echo(context, chat);
    // One more pass per approval request than needed: an answer may have been lost.
    for (let turn = 0; turn <= 2 * chat.plan.calls.length; turn += 1) {
      const holds = await until(() => moved(context, chat), { within: MOVES_WITHIN_MS });
      const waiting = holds?.filter(isWaiting) ?? [];
      if (waiting.length === 0) break;
      await Promise.all(waiting.map((hold) => decide(context, chat, hold)));
    }
    if (await ended(context, chat, { isFirst: true })) return;
    await until(() => ended(context, chat), { within: MOVES_WITHIN_MS });
  } catch (error) {
    if (!(error instanceof Down) || context.isUp()) throw error;
  }
}

/** A late answer to an approval request that may or may not be open: a repetition or a contradiction. */
async function echo(context, { plan: { random, calls } }) {
  const known = calls.map(({ ref }) => context.journal.calls.get(ref)).filter(({ question }) => question);
  if (known.length === 0 || !random.chance(ECHOES)) return;
  const { question, plan } = random.pick(known);
  await ways[random.pick(WAYS)].answer(context, question, random.chance(OPPOSITE) ? !plan.approved : plan.approved);
}

/** The holds, once one of them needs a person or all are settled. */
async function moved(context, chat) {
  const holds = (await holdsOf(context, chat, { calls: "all" })) ?? [];
  const isOver = holds.filter(isSettled).length === chat.plan.calls.length;
  return (isOver || holds.some(isWaiting)) && holds;
}

/** Whether the model has finished its script. The first and the last history read must be valid. */
async function ended(context, chat, { isFirst = false } = {}) {
  const response = await send(context, `/api/chat/${chat.plan.id}/messages`);
  const messages = await read(response);
  // Its message was refused in an outage.
  if (response.status === 404 && !chat.isAcknowledged) return false;
  if (response.status !== 200) return context.journal.strange(chat, `/messages: ${response.status}`);
  chat.isEnded = messages.at(-1)?.parts.at(-1)?.text === lastWords(chat.plan);
  if (chat.isEnded || isFirst) {
    for (const { sdk, error } of await refusals(messages)) context.journal.strange(chat, `${sdk} refuses: ${error}`);
  }
  return chat.isEnded;
}

/** Carries out the plan for an approval request: the answer, its extras, and a forgery. */
async function decide(context, chat, hold) {
  const call = context.journal.calls.get(hold.input.ref);
  if (!call) return context.journal.strange(chat, `a question that was not planned: ${JSON.stringify(hold)}`);
  const { plan } = call;
  const question = { ...hold, chat, plan, ref: plan.ref };
  call.question = question;
  const say = (way, approved, change) => ways[way].answer(context, question, approved, change);

  await forge(context, question);
  if (plan.forgery === "input") return say("chat", plan.approved, changedInput);
  const answers = [() => say(plan.way, plan.approved)];
  if (plan.extra === "again") answers.push(answers[0]);
  if (plan.extra === "elsewhere") answers.push(() => say(plan.otherWay, plan.approved));
  if (plan.extra === "contradiction") answers.push(() => say(plan.otherWay, !plan.approved));
  if (chat.plan.random.chance(0.5)) answers.reverse();
  // Wait for all of them, even if one finds the server gone.
  const said = await Promise.allSettled(answers.map((answer) => answer()));
  const failed = said.find(({ status }) => status === "rejected");
  if (failed) throw failed.reason;
}

/**
 * Decides every open approval request through the inbox until none is left. Returns those left when the time was up.
 */
export async function settle(context, listInbox, random, { within }) {
  let waiting = [];
  await until(
    async () => {
      const askedAt = Date.now();
      waiting = await listInbox();
      const known = waiting.filter(({ input }) => context.journal.calls.has(input.ref));
      for (const { chatId, approvalId, input } of known) {
        context.journal.waits(input.ref, askedAt);
        const question = { chat: context.journal.chats.get(chatId), ref: input.ref, approvalId };
        await inbox.answer(context, question, random.chance(0.5));
      }
      return waiting.length === 0 && (await context.isQuiet());
    },
    { within, every: 50 },
  );
  return waiting;
}
