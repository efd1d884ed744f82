// The judge. It compares three independent accounts: the ledger's deliveries, the client's journal of what was sent and
// acknowledged, and the server's final record. Pure: it makes no requests.

import { MARK } from "./forge.mjs";
import { lastWords } from "./plan.mjs";

const PART_STATES = { ran: "output-available", interrupted: "output-error", decision: "output-denied" };

/** Every acknowledgement by the server that a decision on a call is in force. */
export function acksOf(journal, ref) {
  const { plan, acks } = journal.calls.get(ref);
  if (!plan.needsApproval) return [];
  return [...acks, ...outcomesOf(journal, ref).map(({ way, type, at }) => ({ way, approved: decided(type), at }))];
}

/** The decision that an outcome implies. An error is ambiguous: the adk profile reports a denial as one. */
const decided = (type) => ({ "tool-output-available": true, "tool-output-denied": false })[type] ?? null;

function outcomesOf(journal, ref) {
  const chat = journal.chats.get(journal.calls.get(ref).plan.chat);
  return chat.outcomes.filter(({ toolCallId }) => chat.refs.get(toolCallId) === ref);
}

/** The rules that hold at any time, even under load. Returns `[{rule, chat?, ref?, text}]`. */
export function checkSoFar({ journal, deliveries }) {
  const found = journal.odd.map(({ chat, ref, text }) => ({ rule: "unexpected answer", chat, ref, text }));
  const byRef = grouped(deliveries);
  for (const [ref, own] of byRef) {
    const call = journal.calls.get(ref);
    const say = (rule, text) => found.push({ rule, chat: call?.plan.chat, ref, text });
    if (!call) {
      say("delivered and never proposed", `the ledger has ${JSON.stringify(own[0].input)}`);
      continue;
    }
    if (own.length > 1) say("delivered twice", `${own.length} deliveries`);
    checkDeliveries(call, own, say);
  }
  for (const [ref, call] of journal.calls) {
    const say = (rule, text) => found.push({ rule, chat: call.plan.chat, ref, text });
    checkAcks(call, acksOf(journal, ref), byRef.get(ref) ?? [], say);
  }
  return found;
}

function grouped(deliveries) {
  const groups = new Map();
  for (const delivery of deliveries) groups.set(delivery.ref, [...(groups.get(delivery.ref) ?? []), delivery]);
  return groups;
}

function checkDeliveries({ plan, answers }, deliveries, say) {
  for (const { input, arrivedAt } of deliveries) {
    if (JSON.stringify(sorted(input)) !== JSON.stringify(sorted(plan.input))) {
      say("delivered with another input", `${JSON.stringify(input)} instead of ${JSON.stringify(plan.input)}`);
    }
    if (plan.needsApproval && !answers.some(({ approved, at }) => approved && at <= arrivedAt)) {
      say("delivered without an approval", "nobody had said yes when it arrived");
    }
  }
}

const sorted = (object) => Object.fromEntries(Object.entries(object).toSorted());

function checkAcks({ waits }, acks, deliveries, say) {
  const told = JSON.stringify(acks);
  if (acks.some(({ approved }) => approved === true) && acks.some(({ approved }) => approved === false)) {
    say("both answers acknowledged", told);
  }
  if (acks.filter(({ isFirst }) => isFirst).length > 1) say("decided twice", told);
  const since = Math.min(...acks.map(({ at }) => at));
  if (waits.some((askedAt) => askedAt > since)) say("acknowledged decision lost", `it waits again after ${told}`);
  if (deliveries.length > 0 && acks.some(({ approved }) => approved === false)) say("denied and delivered", told);
}

/**
 * The final check, when everything is settled. `end` is `{deaths, chats, inbox}`: when calls may have been cut off, as
 * `{from, to}`, the last process's record of each chat (`{isRunning, holds, calls, messages, refused}`; undefined if it does not know the chat)
 * and the open approval requests.
 */
export function checkEnd({ journal, deliveries, end }) {
  const found = [];
  for (const { approvalId, chatId } of end.inbox) {
    found.push({ rule: "turn not ended", chat: chatId, text: `${approvalId} still waits in the inbox` });
  }
  for (const [id, chat] of journal.chats) {
    const say = (rule, text, ref) => found.push({ rule, chat: id, ref, text });
    const state = end.chats.get(id);
    if (!state) {
      if (chat.isAcknowledged) say("acknowledged message lost", "the server does not know the chat");
      continue;
    }
    checkChat(chat, state, say);
    for (const { ref } of chat.plan.calls) {
      const own = deliveries.filter((delivery) => delivery.ref === ref);
      checkCall({ journal, ref, state, deliveries: own, deaths: end.deaths }, (rule, text) => say(rule, text, ref));
    }
  }
  return found;
}

function checkChat(chat, { isRunning, holds, calls, messages, refused }, say) {
  if (isRunning || holds > 0) say("turn not ended", `isRunning ${isRunning}, holds ${holds}`);
  for (const { sdk, error } of refused) say("invalid history", `${sdk}: ${error}`);
  for (const [approvalId, toolCallId] of chat.shown) {
    const kept = calls.find((call) => call.approvalId === approvalId);
    if (kept?.toolCallId !== toolCallId) say("question lost", `${approvalId} of ${toolCallId} was shown`);
  }
  for (const { toolCallId, way } of chat.outcomes) {
    if (!chat.refs.has(toolCallId)) say("outcome of no call", `${toolCallId} on ${way}`);
  }
  const roles = messages.map(({ role }) => role).join(" ");
  if (roles !== "user assistant") say("history is not the turn's", `its messages: ${roles || "none"}`);
  const text = messages.at(-1)?.parts.findLast(({ type }) => type === "text")?.text;
  if (text !== lastWords(chat.plan)) say("turn not ended", `its last words are ${JSON.stringify(text)}`);
  if (JSON.stringify([messages, calls]).includes(MARK)) say("forgery taken", "its mark is in the record");
}

function checkCall({ journal, ref, state, deliveries, deaths }, say) {
  const { plan, answers } = journal.calls.get(ref);
  const [kept, ...more] = state.calls.filter(({ input }) => input.ref === ref);
  if (!kept) return say("turn not ended", "the call was never made");
  if (more.length > 0) say("proposed twice", JSON.stringify([kept, ...more]));
  if (kept.state !== "settled") return say("turn not ended", `the call is ${kept.state}`);

  const acks = acksOf(journal, ref);
  const isApproved = !plan.needsApproval || kept.decision?.kind === "approve";
  if (plan.needsApproval) {
    if (!kept.decision) return say("acknowledged decision lost", `no decision is kept: ${JSON.stringify(kept)}`);
    if (!answers.some(({ approved }) => approved === isApproved))
      say("decided by nobody", JSON.stringify(kept.decision));
    const other = acks.find(({ approved }) => approved === !isApproved);
    if (other) say("acknowledged decision lost", `${kept.decision.kind} stands, ${JSON.stringify(other)} was said`);
  }
  if (isApproved) checkRun(kept, deliveries, deaths, say);
  else {
    if (deliveries.length > 0) say("denied and delivered", JSON.stringify(kept.decision));
    if (kept.outcome.cause !== "decision") say("denial with another cause", JSON.stringify(kept.outcome));
  }
  checkPart(kept, state.messages, say);
  for (const outcome of outcomesOf(journal, ref)) {
    if (!isSame(outcome, kept.outcome)) {
      say("outcome changed", `${JSON.stringify(outcome)} was shown, ${JSON.stringify(kept.outcome)} stands`);
    }
  }
}

/** An approved call ran once, and its outcome is the ledger's own; or it was cut off, and its outcome says so. */
function checkRun({ outcome, decision, requestedAt }, deliveries, deaths, say) {
  const told = JSON.stringify(outcome);
  if (outcome.cause === "interrupted") {
    const [begun, ended] = [decision?.at ?? requestedAt, outcome.at].map((at) => Date.parse(at));
    if (!deaths.some(({ from, to }) => begun <= to && from <= ended))
      say("interrupted by nothing", `no kill in between: ${told}`);
    if (outcome.output !== undefined) say("interrupted with an output", told);
    return;
  }
  if (outcome.cause !== "ran") return say("acknowledged decision lost", `an approved call ended as ${told}`);
  if (deliveries.length === 0) return say("acknowledged decision lost", `never delivered, but ${told}`);
  if (!deliveries.some(({ receipt }) => receipt === outcome.output?.receipt)) {
    say("outcome is not the ledger's", `${told} instead of ${deliveries.map(({ receipt }) => receipt)}`);
  }
}

/** The history agrees with the list of holds. */
function checkPart({ toolCallId, outcome }, messages, say) {
  const parts = messages.flatMap(({ parts }) => parts).filter((part) => part.toolCallId === toolCallId);
  if (parts.length !== 1) return say("history and holds differ", `${parts.length} parts for ${toolCallId}`);
  const [part] = parts;
  const cause = part.callProviderMetadata?.holdpoint?.cause;
  if (cause !== outcome.cause || part.state !== PART_STATES[cause]) {
    say("history and holds differ", `${JSON.stringify(part)} and ${JSON.stringify(outcome)}`);
  }
}

/** Whether an outcome on a stream equals the stored one. */
function isSame({ type, output, errorText }, kept) {
  if (type === "tool-output-available") return output?.receipt === kept.output?.receipt && kept.cause === "ran";
  if (type === "tool-output-denied") return kept.cause === "decision";
  return kept.cause === "decision" || errorText === kept.errorText;
}

/** While nothing runs: the inbox lists exactly the open holds of the chats, and the chat list has the same counts. */
export function checkInbox({ inbox, chats }) {
  const found = [];
  const asked = new Set(inbox.map(({ approvalId }) => approvalId));
  for (const [id, { holds, calls, isRunning }] of chats) {
    const waiting = calls.filter(({ state }) => state === "waiting");
    if (waiting.length !== holds) {
      found.push({ rule: "holds differ", chat: id, text: `/api/chats says ${holds}, its holds are ${waiting.length}` });
    }
    if (isRunning && holds === 0) {
      found.push({ rule: "turn not ended", chat: id, text: "it runs long after the start" });
    }
    for (const { approvalId, input } of waiting) {
      if (asked.delete(approvalId)) continue;
      found.push({ rule: "not in the inbox", chat: id, ref: input.ref, text: `${approvalId} waits` });
    }
  }
  for (const approvalId of asked) found.push({ rule: "only in the inbox", text: approvalId });
  return found;
}
