// Shared parts of the fault tests: a server with the ledger behind its tool, and requests to it.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { environment } from "../../support/process.mjs";
import { binary } from "../../support/server.mjs";
import { refusals } from "../histories.mjs";
import { list, read, readChunks, send } from "../http.mjs";
import { Ledger } from "../ledger.mjs";
import { settings as ledgerSettings } from "../server.mjs";
import { until } from "../wait.mjs";
import { Process } from "./process.mjs";

export const IS_FULL = process.env.FAULTS === "full";

/** Printed, so that a failure can be reproduced: `SEED=n npm run faults`. */
export const SEED = process.env.SEED ?? "1";

const ANSWERS_WITHIN_MS = 8000;

/** A running server, its ledger, and a request context. Everything is removed when the test ends. */
export async function world(t, { settings = "", script, delayOf, data } = {}) {
  const ledger = new Ledger(delayOf);
  const url = await ledger.open();
  const server = await Process.prepare(`${settings}\n${ledgerSettings(url, false)}`, { data });
  t.after(async () => {
    await server.remove();
    await ledger.close();
    assert.deepEqual(server.faults, []);
  });
  if (script) await server.start(script);
  return { server, ledger, context: contextOf(server) };
}

/** Runs a command of the program. Returns its exit code and its output. */
export const command = (...args) =>
  new Promise((resolve) => {
    execFile(binary(), args, { env: environment() }, (error, stdout, stderr) =>
      resolve({ code: error ? (error.code ?? error.signal) : 0, said: stdout + stderr }),
    );
  });

/** Requests to a server, each with a time limit. */
export const contextOf = (server) => ({
  get url() {
    return server.url;
  },
  get signal() {
    return AbortSignal.timeout(ANSWERS_WITHIN_MS);
  },
});

/** A turn that calls `transfer` and then confirms it. */
export const transferTurn = (ref, tool = "transfer") => ({
  when: `^${ref}: `,
  steps: [[{ toolCall: { name: tool, input: { ref, amount: 7 } } }], [{ text: [`${ref} is settled.`] }]],
});

export const said = (ref, text = `${ref}: go`) => ({
  id: ref,
  messages: [{ id: `user-${ref}-${text.length}`, role: "user", parts: [{ type: "text", text }] }],
});

/** Sends a message over `/stream`. Returns the chunks of the response. */
export async function say(context, ref, text) {
  const response = await send(context, "/stream", said(ref, text));
  assert.equal(response.status, 200, `${ref}: ${response.status}`);
  const chunks = [];
  await readChunks(response, (chunk) => chunks.push(chunk));
  return chunks;
}

/** Sends a message that leads to an approval request. Returns the approval id. */
export async function question(context, ref) {
  const chunks = await say(context, ref);
  const request = chunks.find(({ type }) => type === "tool-approval-request");
  assert.ok(request, `${ref} asks nothing: ${JSON.stringify(chunks)}`);
  return request.approvalId;
}

/** Decides. Returns the status, the body and the duration. */
export async function decide(context, approvalId, approved = true) {
  const begun = Date.now();
  const response = await send(context, `/api/approvals/${approvalId}`, { approved });
  return { status: response.status, body: await read(response), tookMs: Date.now() - begun };
}

export async function get(context, path) {
  const response = await send(context, path);
  const text = await response.text();
  return { status: response.status, text, json: () => JSON.parse(text) };
}

export const inbox = (context) => list(context, "/api/approvals");

export const holdsIn = async (context, chat) => (await get(context, `/api/chat/${chat}/holds?calls=all`)).json();

export const messagesIn = async (context, chat) => (await get(context, `/api/chat/${chat}/messages`)).json();

/** The single call of a chat, once it has its outcome. */
export async function settled(context, chat, { within = 8000 } = {}) {
  const found = await until(
    async () => {
      const [hold] = await holdsIn(context, chat);
      return hold?.state === "settled" && hold;
    },
    { within },
  );
  assert.ok(found, `${chat} has no outcome: ${JSON.stringify(await holdsIn(context, chat))}`);
  return found;
}

/** Waits until nothing runs any more. */
export async function quiet(context, { within = 15_000 } = {}) {
  const isQuiet = async () => (await list(context, "/api/chats")).every(({ isRunning }) => !isRunning);
  assert.ok(await until(isQuiet, { within }), "a turn still runs");
}

/** Both versions of the SDK accept the histories of these chats. */
export async function assertValid(context, chats) {
  for (const chat of chats) assert.deepEqual(await refusals(await messagesIn(context, chat)), [], `${chat} is invalid`);
}

/** A value of `/metrics`, summed over its labels. */
export async function metric(context, name) {
  const { text } = await get(context, "/metrics");
  const lines = text.split("\n").filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

/** Nothing was delivered twice. Returns the delivered refs. */
export function deliveredOnce(deliveries) {
  const refs = deliveries.map(({ ref }) => ref);
  assert.equal(new Set(refs).size, refs.length, `delivered twice: ${refs.toSorted()}`);
  return refs.toSorted();
}
