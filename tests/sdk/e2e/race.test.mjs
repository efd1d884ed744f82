// Twenty answers to one approval request at the same moment, both decisions and both endpoints: one counts.

import assert from "node:assert/strict";
import { KINDS } from "./support/client.mjs";
import { play } from "./support/play.mjs";
import { isTool, summary } from "./support/record.mjs";

const ANSWERS = 20;
const ROUNDS = 4;

function answered(messages, approved) {
  const copy = structuredClone(messages);
  const last = copy.at(-1);
  last.parts = last.parts.map((part) =>
    isTool(part) ? { ...part, state: "approval-responded", approval: { ...part.approval, approved } } : part,
  );
  return copy;
}

/** In a chat request: 200 with the continuation, whichever decision it carried. */
async function inTheChat({ server, newTab }, client, approved) {
  const messages = answered(client.messages, approved);
  const tab = newTab();
  const response = await tab.fetch(`${server.url}/api/chat`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id: client.id, messages, trigger: "submit-message", messageId: messages.at(-1).id }),
  });
  await response.text();
  const outcomes = tab.chunks.filter(({ type }) => /^tool-output-(available|denied|error)$/.test(type));
  return { approved, status: response.status, outcomes: outcomes.map(({ type }) => type) };
}

async function inTheInbox({ api }, client, approved) {
  const { id } = client.tool("process_payment").approval;
  const { status, body } = await api(`/api/approvals/${id}`, { body: { approved } });
  return { approved, status, isFirst: status === 200 && body.ignored !== true };
}

async function round(play, number) {
  const client = play.open({ id: `${play.chatId}-${number}` });
  await client.say("pay Ann");
  const answers = Array.from({ length: ANSWERS }, (_, at) => {
    // The order of the requests changes from round to round.
    const way = (at + number) % 4;
    return (way < 2 ? inTheChat : inTheInbox)(play, client, way % 2 === 0);
  });
  const all = await Promise.all(answers);

  const [part] = (await client.history()).at(-1).parts.filter(isTool);
  const isApproved = part.state === "output-available";
  assert.equal(part.state, isApproved ? "output-available" : "output-denied");
  for (const { approved, status, outcomes } of all) {
    const isInForce = approved === isApproved;
    if (outcomes) {
      assert.equal(status, 200, "a chat client gets what followed");
      const denied = approved ? "tool-output-error" : "tool-output-denied";
      assert.deepEqual(outcomes, [isApproved ? "tool-output-available" : denied]);
    } else {
      assert.equal(status, isInForce ? 200 : 409, "the inbox takes the same answer again, and refuses the other one");
    }
  }
  const [decided] = await client.holds();
  assert.deepEqual(summary(decided), {
    kind: "approval",
    state: "settled",
    decision: { kind: isApproved ? "approve" : "deny", by: ["local"] },
    cause: isApproved ? "ran" : "decision",
    cut: false,
  });
  assert.ok(all.filter(({ isFirst }) => isFirst).length <= 1, "at most one of the inbox was first");

  // At most one execution, by the wallet.
  client.chat.messages = await client.history();
  await client.say("pay Ann");
  await client.decide(client.tool("process_payment"), true);
  await client.rests({ sends: 3 });
  assert.equal(client.tool("process_payment").output.wallet_balance, isApproved ? 940 : 970);
}

async function twentyAnswersAtOnce(play) {
  for (let number = 0; number < ROUNDS; number += 1) await round(play, number);
}

play("race", { "twenty answers at once": twentyAnswersAtOnce }, { kinds: [KINDS[0], KINDS[2]] });
