// A call is cut off while the ledger has its request and has not answered: by SIGTERM and a drain that it outlasts, by a
// stop, by a newer message, by the deletion of its chat. Nobody knows what came of it, and the record says so.

import assert from "node:assert/strict";
import { test } from "node:test";
import { send } from "../http.mjs";
import { until } from "../wait.mjs";
import {
  assertValid,
  contextOf,
  decide,
  deliveredOnce,
  get,
  question,
  say,
  settled,
  transferTurn,
  world,
} from "./world.mjs";

const WAYS = ["terminated", "stopped", "superseded", "deleted"];

/** Longer than the server waits for what runs. */
const ANSWERS_AFTER_MS = 60_000;

const script = {
  turns: [{ when: ": what now", steps: [[{ text: ["Nobody knows."] }]] }, ...WAYS.map((way) => transferTurn(way))],
};

test("cut off after the request was sent", async (t) => {
  const { server, ledger, context } = await world(t, { script, delayOf: () => ANSWERS_AFTER_MS });
  for (const way of WAYS) {
    assert.equal((await decide(context, await question(context, way))).status, 200);
    assert.ok(await until(() => ledger.of(way).length === 1, { within: 8000 }), `${way} was never sent`);
  }
  assert.equal((await send(context, "/api/chat/stopped/stop", {})).status, 200);
  await say(context, "superseded", "superseded: what now");
  const deleted = await fetch(`${server.url}/api/chat/deleted`, { method: "DELETE", signal: context.signal });
  assert.equal(deleted.status, 204);

  const begun = Date.now();
  assert.equal(await server.stop(), 0, server.said);
  t.diagnostic(`the process was gone after ${Date.now() - begun} ms`);
  await server.start(script);
  const again = contextOf(server);
  for (const way of WAYS.filter((way) => way !== "deleted")) {
    const { outcome } = await settled(again, way);
    assert.equal(outcome.cause, "interrupted", `${way}: ${JSON.stringify(outcome)}`);
    assert.match(outcome.errorText, /^interrupted: outcome unknown/);
  }
  const lines = (await get(again, "/api/audit?chat=deleted")).text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const end = lines.findLast(({ step }) => step === "settled");
  assert.equal(end?.cause, "interrupted", JSON.stringify(lines));
  assert.deepEqual(deliveredOnce(ledger.deliveries), WAYS.toSorted());
  await assertValid(
    again,
    WAYS.filter((way) => way !== "deleted"),
  );
});
