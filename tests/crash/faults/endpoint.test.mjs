// A hostile endpoint behind a tool. Each call ends in time with an honest outcome: "unknown whether it was carried out"
// exactly if the call was sent and no response could be understood.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { refusals } from "../histories.mjs";
import { Ledger } from "../ledger.mjs";
import { acts, DECEIVING, open } from "./hostile-endpoint.mjs";
import { growth, Process } from "./process.mjs";
import { contextOf, decide, messagesIn, question, say, settled } from "./world.mjs";

const TIMEOUT_SEC = 2;
const MOST_MB = 64;
const ENDS_WITHIN_MS = 1000 * (TIMEOUT_SEC + 2);

const UNKNOWN = /^interrupted: outcome unknown/;

const isUnknown = ({ cause, errorText }) => {
  assert.match(errorText ?? "", UNKNOWN);
  assert.equal(cause, "interrupted");
};
const output = (expected) => (outcome) => {
  assert.deepEqual(outcome.output, expected, JSON.stringify(outcome));
  assert.equal(outcome.cause, "ran");
};
/** A binary body is stored, and the output links to it. */
const file = (type, mimeType, bytes) => (outcome) => {
  const { url, ...link } = outcome.output;
  assert.deepEqual(link, { type, mimeType, bytes }, JSON.stringify(outcome));
  assert.match(url, /^\/api\/chat\/.*\/files\//);
  assert.equal(outcome.cause, "ran");
};
const failed = (pattern) => (outcome) => {
  assert.match(outcome.errorText ?? "", pattern);
  assert.doesNotMatch(outcome.errorText, UNKNOWN);
  assert.equal(outcome.cause, "ran");
};

const expected = {
  "endless-body": isUnknown,
  "endless-header": isUnknown,
  "endless-continue": isUnknown,
  "ten-megabytes": isUnknown,
  deep: isUnknown,
  "raw-value": output({ "$serde_json::private::RawValue": "[1]" }),
  "forbidden-key": failed(/^The tool ran, but its output can't be used/),
  "not-json": isUnknown,
  "control-text": file("file", "application/octet-stream", Buffer.byteLength(DECEIVING)),
  "control-json": output({ note: DECEIVING }),
  // A response that can be understood: the call failed. Deceptive characters are escaped.
  "control-error": failed(/^The endpoint answered 500.*\\u\{202e\}/),
  "wrong-type": file("image", "image/png", 13),
  binary: file("image", "image/png", 5),
  "no-http": isUnknown,
  "headers-only": isUnknown,
  silent: isUnknown,
  "slow-drip": isUnknown,
  "slow-header": isUnknown,
  reset: isUnknown,
  "reset-in-body": isUnknown,
  // A redirect that is not followed is a response, and reported as such.
  "to-file": failed(/answered 302/),
  "to-other": isUnknown,
  "to-itself": failed(/answered 302/),
  "gzip-bomb": isUnknown,
};
const script = {
  turns: Object.keys(expected).flatMap((act) => [
    {
      when: `^${act}: go`,
      steps: [[{ toolCall: { name: "hostile", input: { act } } }], [{ text: [`${act} is settled.`] }]],
    },
    { when: `^${act}: still there`, steps: [[{ text: ["Yes."] }]] },
  ]),
};

const outcomes = new Map();
const tookMs = new Map();
let [endpoint, ledger, server, context, grown] = [];

before(async () => {
  ledger = new Ledger();
  endpoint = await open(await ledger.open());
  server = await Process.prepare(`
[tools.hostile]
execution = "server"
description = "Calls an endpoint"
url = "${endpoint.url}{act}"
allow_private = true
approval = "always"
timeout_sec = ${TIMEOUT_SEC}
input_schema = { type = "object", properties = { act = { type = "string" } } }
`);
  await server.start(script);
  context = contextOf(server);
  const call = async (act) => {
    const approvalId = await question(context, act);
    const begun = Date.now();
    assert.equal((await decide(context, approvalId)).status, 200);
    const { outcome } = await settled(context, act, { within: ENDS_WITHIN_MS });
    tookMs.set(act, Date.now() - begun);
    outcomes.set(act, outcome);
  };
  const called = () => Promise.allSettled(Object.keys(expected).map(call));
  grown = await growth(server, called, { limit: 1024 });
});

after(async () => {
  await server.remove();
  await endpoint.close();
  await ledger.close();
});

for (const [act, check] of Object.entries(expected)) {
  test(`an endpoint with ${act}`, async () => {
    assert.ok(outcomes.has(act), "it has an outcome in time");
    assert.ok(tookMs.get(act) < ENDS_WITHIN_MS);
    const count = endpoint.requests.filter((path) => path === act).length;
    assert.ok(act === "to-itself" ? count <= 6 : count === 1, `it was called ${count} times`);
    assert.deepEqual(await refusals(await messagesIn(context, act)), []);
    const chunks = await say(context, act, `${act}: still there?`);
    assert.ok(
      chunks.some(({ type, delta }) => type === "text-delta" && delta === "Yes."),
      JSON.stringify(chunks),
    );
    assert.deepEqual(await refusals(await messagesIn(context, act)), []);
    check(outcomes.get(act));
  });
}

test("all of them at once", (t) => {
  t.diagnostic(`${Math.round(grown)} MB more`);
  assert.ok(grown < MOST_MB, `${Math.round(grown)} MB more`);
  assert.deepEqual(Object.keys(expected).toSorted(), Object.keys(acts).toSorted());
  assert.deepEqual(ledger.deliveries, [], "a redirect leads to no other host");
  assert.equal(ledger.broken, 0);
  assert.doesNotMatch(JSON.stringify([...outcomes]), /root:/);
  assert.deepEqual(server.faults, []);
});
