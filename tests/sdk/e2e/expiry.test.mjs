// Approval requests that expire.

import assert from "node:assert/strict";
import { play } from "./support/play.mjs";
import { isTool, settledOf, summary } from "./support/record.mjs";

const config = `
[tools.search_database]
approval_timeout_sec = 1
`;

async function expired({ open, api }) {
  const client = open();
  await client.say("search");
  await client.rests({ sends: 1 });
  await client.until("the question has expired", async () => {
    const { body } = await api(`/api/chat/${client.id}/messages`);
    return body[1].parts.find(isTool).state === "output-error";
  });
  return client;
}

async function answeredTooLate(play) {
  const client = await expired(play);
  const asked = client.tool("search_database");
  assert.equal((await play.api(`/api/approvals/${asked.approval.id}`, { body: { approved: true } })).status, 410);
  await client.decide(asked, true);
  await client.rests({ sends: 2 });
  const { state, errorText } = client.tool("search_database");
  assert.deepEqual({ state, errorText }, { state: "output-error", errorText: "Approval request timed out" });
  assert.equal(client.text, "Searched.");
  assert.ok(client.answer);
  const kept = (await client.history()).at(-1).parts.find(isTool);
  assert.equal(kept.approval, undefined, "nobody has approved it");
  assert.deepEqual(settledOf(kept), { cause: "expired", decidedBy: [], edited: false });
  const hold = await client.hold(asked);
  assert.deepEqual(summary(hold), { kind: "approval", state: "settled", cause: "expired", cut: false });
  assert.equal(hold.outcome.errorText, "Approval request timed out");
  assert.ok(Date.parse(hold.outcome.at) - Date.parse(hold.requestedAt) >= 1000);
}

async function resumedTooLate(play) {
  const client = await expired(play);
  await client.chat.resumeStream();
  await client.rests({ sends: 1, resumes: 1 });
  const messages = await client.history();
  const after = play.open({ messages, tab: play.newTab() });
  assert.deepEqual(after.states, ["search_database output-error"]);
  await after.say("pay Ann");
  await after.decide(after.tool("process_payment"), true);
  await after.rests({ sends: 2 });
  assert.deepEqual(after.states, ["process_payment output-available"]);
  assert.ok(after.answer);
  await after.agrees();
}

play("expiry", { "answered too late": answeredTooLate, "loaded again too late": resumedTooLate }, { config });
