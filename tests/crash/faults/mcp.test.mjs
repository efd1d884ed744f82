// A hostile MCP server. The server stays up, its memory does not grow, and it reports the outcome of the call, or why
// there are no tools.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { pause, until } from "../wait.mjs";
import { growth } from "./process.mjs";
import { assertValid, decide, get, question, say, settled, transferTurn, world } from "./world.mjs";

const MOST_MB = 128;
const TIMEOUT_SEC = 2;

/** No MCP server may keep the server from starting: its tools are waited for 3 s, and the rest is for a busy machine. */
const STARTS_WITHIN_MS = 8000;

const program = fileURLToPath(new URL("hostile-mcp.mjs", import.meta.url));

const settingsOf = (act) => `
[[mcp]]
name = "hostile"
command = ["${process.execPath}", "${program}", "${act}"]
approval = "always"
timeout_sec = ${TIMEOUT_SEC}
`;

const script = {
  turns: [
    transferTurn("pay"),
    { when: "^act: go", steps: [[{ toolCall: { name: "hostile_act", input: {} } }], [{ text: ["It is over."] }]] },
    { when: "^act: still there", steps: [[{ text: ["Yes."] }]] },
  ],
};

const UNKNOWN = /^interrupted: outcome unknown/;
const output = (expected) => (outcome) => assert.deepEqual(outcome.output, expected, JSON.stringify(outcome));
const failed = (pattern) => (outcome) =>
  assert.match(outcome.errorText ?? "", pattern, JSON.stringify(outcome).slice(0, 500));

/** The outcome of each call. */
const calls = {
  "endless-line": failed(UNKNOWN),
  deep: failed(UNKNOWN),
  huge: failed(/larger than|outcome unknown/),
  control: output("paid \u001b[2J\u0000\u0007\u202egnp.exe\u2066 done"),
  "control-error": failed(/^no /),
  "raw-value": failed(UNKNOWN),
  "no-result": failed(UNKNOWN),
  "notification-flood": output("after the flood"),
  "list-changed-flood": output("after the flood"),
  "stderr-flood": output("after the flood"),
  "stderr-line": output("after the flood"),
  garbage: output("done"),
};

/** Why a tool list or a handshake is refused: what `holdpoint` logs. */
const refused = {
  "many-tools": /more than 1000/,
  "endless-pages": /more than 100 pages/,
  "huge-list": /larger than|hostile/,
  "endless-greeting": /hostile/,
};

const isListed = async (context) => (await get(context, "/api/tools")).text.includes('"hostile_act"');

/** The rest of the server is unaffected. */
async function assertUsable(context, ledger) {
  assert.equal((await get(context, "/ready")).status, 200);
  const begun = Date.now();
  assert.equal((await decide(context, await question(context, "pay"))).status, 200);
  assert.equal((await settled(context, "pay")).outcome.cause, "ran");
  assert.ok(Date.now() - begun < 3000, `${Date.now() - begun} ms`);
  assert.equal(ledger.deliveries.length, 1);
}

for (const [act, check] of Object.entries(calls)) {
  test(`an MCP server with ${act}`, async (t) => {
    const { server, ledger, context } = await world(t, { settings: settingsOf(act), script });
    assert.ok(await until(() => isListed(context), { within: 8000 }), `no tool: ${server.said}`);
    let outcome;
    const call = async () => {
      const approvalId = await question(context, "act");
      assert.equal((await decide(context, approvalId)).status, 200);
      ({ outcome } = await settled(context, "act", { within: 1000 * (TIMEOUT_SEC + 3) }));
    };
    const grown = await growth(server, call, { limit: 768 });
    t.diagnostic(`${Math.round(grown)} MB more: ${JSON.stringify(outcome.errorText ?? outcome.output).slice(0, 200)}`);
    await assertUsable(context, ledger);
    assert.ok((await say(context, "act", "act: still there?")).some(({ delta }) => delta === "Yes."));
    await assertValid(context, ["act", "pay"]);
    check(outcome);
    assert.ok(grown < MOST_MB, `${Math.round(grown)} MB more`);
  });
}

for (const [act, pattern] of Object.entries(refused)) {
  test(`an MCP server with ${act}`, async (t) => {
    const { server, ledger, context } = await world(t, { settings: settingsOf(act) });
    await server.start(script, { within: STARTS_WITHIN_MS });
    const told = async () => {
      await until(() => pattern.test(server.said) || !server.isUp, { within: 2500 });
      // A refused server is retried, and must not pile up.
      await pause(700);
    };
    const grown = await growth(server, told, { limit: 768 });
    t.diagnostic(`${Math.round(grown)} MB more: ${server.said.slice(0, 300)}`);
    assert.ok(server.isUp, "it was stopped, because it took too much memory");
    await assertUsable(context, ledger);
    assert.equal(await isListed(context), false);
    assert.match(server.said, pattern);
    assert.ok(grown < MOST_MB, `${Math.round(grown)} MB more`);
  });
}
