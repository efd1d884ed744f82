// Shows that the judge can find violations: it finds none in a small honest world, and the right one in each tampered
// copy.

import assert from "node:assert/strict";
import { checkEnd, checkInbox, checkSoFar } from "./check.mjs";
import { refusals } from "./histories.mjs";
import { Journal } from "./journal.mjs";
import { lastWords, userMessage } from "./plan.mjs";

const AT = Date.parse("2030-01-01T00:00:00.000Z");
const iso = (at) => new Date(at).toISOString();

/** One chat with one call, approved or denied through the inbox; `cause` is the cause of its outcome. */
async function add(world, id, { approved, cause }) {
  const ref = `${id}-a`;
  const input = { ref, amount: 5 };
  const call = { ref, chat: id, input, needsApproval: true };
  const chat = world.journal.add({ id, kind: "one", calls: [call] });
  chat.isAcknowledged = true;
  chat.shown.set(`approval-${id}`, `call-${id}`);
  chat.refs.set(`call-${id}`, ref);
  const journaled = world.journal.calls.get(ref);
  journaled.answers.push({ way: "inbox", approved, at: AT });
  journaled.acks.push({ way: "inbox", approved, isFirst: true, at: AT + 5 });
  journaled.waits.push(AT - 10);

  const receipt = `receipt-${id}`;
  if (cause === "ran") world.deliveries.push({ ref, input, arrivedAt: AT + 3, answeredAt: AT + 6, receipt });
  const outcome = {
    ran: { cause, at: iso(AT + 7), output: { receipt } },
    decision: { cause, at: iso(AT + 2) },
    interrupted: { cause, at: iso(AT + 900), errorText: "interrupted: outcome unknown" },
  }[cause];
  const state = { ran: "output-available", decision: "output-denied", interrupted: "output-error" }[cause];
  const part = {
    type: "tool-transfer",
    toolCallId: `call-${id}`,
    state,
    input,
    ...(outcome.output && { output: outcome.output }),
    ...(outcome.errorText && { errorText: outcome.errorText }),
    approval: { id: `approval-${id}`, approved },
    callProviderMetadata: { holdpoint: { cause, decidedBy: ["local"], decidedAt: iso(AT + 2), edited: false } },
  };
  const parts = [{ type: "step-start" }, part, { type: "step-start" }, { type: "text", text: lastWords({ id }) }];
  const messages = [userMessage({ id }), { id: `message-${id}`, role: "assistant", parts }];
  const decision = { kind: approved ? "approve" : "deny", by: ["local"], at: iso(AT + 2) };
  const kept = { toolCallId: `call-${id}`, approvalId: `approval-${id}`, input, state: "settled", decision, outcome };
  const refused = await refusals(messages);
  world.end.chats.set(id, { isRunning: false, holds: 0, calls: [kept], messages, refused });
}

async function honest() {
  const end = { deaths: [{ from: AT + 500, to: AT + 500 }], inbox: [], chats: new Map() };
  const world = { journal: new Journal(), deliveries: [], end };
  await add(world, "paid", { approved: true, cause: "ran" });
  await add(world, "denied", { approved: false, cause: "decision" });
  await add(world, "cut-off", { approved: true, cause: "interrupted" });
  return world;
}

const judge = (world) => [...checkSoFar(world), ...checkEnd(world), ...checkInbox(world.end)];
const rules = (world) => judge(world).map(({ rule }) => rule);
const delivery = (ref, more) => ({ ref, input: { ref, amount: 5 }, arrivedAt: AT + 3, receipt: "receipt-x", ...more });
const kept = (world, id) => world.end.chats.get(id).calls[0];

/** Each tampering, and the rule that must be reported. */
const doctored = {
  "a doubled delivery": ["delivered twice", (world) => world.deliveries.push(delivery("paid-a"))],
  "a lost approval": [
    "acknowledged decision lost",
    (world) => {
      world.deliveries.length = 0;
    },
  ],
  "an approval that became a denial": [
    "acknowledged decision lost",
    (world) => {
      kept(world, "cut-off").decision.kind = "deny";
    },
  ],
  "a decision that waits again": ["acknowledged decision lost", (world) => world.journal.waits("cut-off-a", AT + 600)],
  "an unapproved delivery": [
    "delivered without an approval",
    (world) => {
      world.journal.calls.get("paid-a").answers[0].at = AT + 4;
    },
  ],
  "a delivery that nobody proposed": [
    "delivered and never proposed",
    (world) => world.deliveries.push(delivery("forged")),
  ],
  "a denied one delivered": ["denied and delivered", (world) => world.deliveries.push(delivery("denied-a"))],
  "another input": [
    "delivered with another input",
    (world) => {
      world.deliveries[0].input = { ref: "paid-a", amount: 6 };
    },
  ],
  "both answers acknowledged": ["both answers acknowledged", (world) => world.journal.stands("paid-a", "chat", false)],
  "the same decision made twice": [
    "decided twice",
    (world) => world.journal.stands("paid-a", "inbox", true, { isFirst: true }),
  ],
  "an outcome that changed": [
    "outcome changed",
    (world) =>
      world.journal.chats
        .get("cut-off")
        .outcomes.push({ type: "tool-output-available", toolCallId: "call-cut-off", output: {}, way: "ws", at: AT }),
  ],
  "an outcome of the server's own making": [
    "outcome is not the ledger's",
    (world) => {
      kept(world, "paid").outcome.output.receipt = "receipt-z";
    },
  ],
  "an interruption without a kill": [
    "interrupted by nothing",
    (world) => {
      world.end.deaths = [{ from: AT - 1000, to: AT - 1000 }];
    },
  ],
  "a chat that is gone": ["acknowledged message lost", (world) => world.end.chats.delete("paid")],
  "a question that is gone": [
    "question lost",
    (world) => world.journal.chats.get("paid").shown.set("approval-y", "call-paid"),
  ],
  "a turn that never ends": [
    "turn not ended",
    (world) => {
      world.end.chats.get("paid").isRunning = true;
    },
  ],
  "a turn without its end": ["turn not ended", (world) => world.end.chats.get("paid").messages[1].parts.pop()],
  "a hold that no inbox has": [
    "not in the inbox",
    (world) => {
      kept(world, "paid").state = "waiting";
    },
  ],
  "an inbox entry of no hold": [
    "only in the inbox",
    (world) => world.end.inbox.push({ approvalId: "approval-paid", chatId: "paid" }),
  ],
  "a history that the SDK refuses": [
    "invalid history",
    async (world) => {
      const state = world.end.chats.get("denied");
      delete state.messages[1].parts[1].approval;
      state.messages[1].parts[1].output = 5;
      state.refused = await refusals([{ ...state.messages[1], role: "nobody" }]);
    },
  ],
};

export async function selfTest() {
  assert.deepEqual(judge(await honest()), [], "an honest world is accepted");
  for (const [what, [rule, doctor]] of Object.entries(doctored)) {
    const world = await honest();
    await doctor(world);
    const found = rules(world);
    assert.ok(found.includes(rule), `${what}: ${rule} is not among ${JSON.stringify(found)}`);
    console.log(`found: ${what} (${rule})`);
  }
  console.log(`the judge finds all ${Object.keys(doctored).length}, and nothing where there is nothing`);
}
