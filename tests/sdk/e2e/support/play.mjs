// Runs flows: each with each kind of client, against one server per file.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { Capture } from "./capture.mjs";
import { Client, KINDS } from "./client.mjs";
import { judged } from "./record.mjs";
import { script } from "./script.mjs";
import { startServer } from "./server.mjs";

const TIMEOUT_MS = 60_000;
/** Flows mostly wait, so running a few at a time uses a core well. */
const AT_ONCE = 4;

/** One run of a flow. */
export class Play {
  chatId = `chat-${randomUUID()}`;
  clients = [];
  #tabs = [];
  #allowed = [];

  constructor(server, kind) {
    this.server = server;
    this.kind = kind;
    /** The tab in which clients are opened, unless the flow says otherwise. */
    this.tab = this.newTab();
  }

  // Arrow functions, so that a flow can destructure its argument.

  /** Another browser tab: its traffic is checked separately. */
  newTab = (profile) => {
    const tab = new Capture(profile);
    this.#tabs.push(tab);
    return tab;
  };

  open = (options = {}) => {
    const client = new Client(this.kind, { server: this.server, tab: this.tab, id: this.chatId, ...options });
    this.clients.push(client);
    return client;
  };

  /** Rules that this flow violates on purpose. */
  allow = (...rules) => {
    this.#allowed.push(...rules);
  };

  /** A request outside any client's stream. */
  api = async (path, { body, headers, ...init } = {}) => {
    const method = init.method ?? (body === undefined ? "GET" : "POST");
    const response = await fetch(this.server.url + path, {
      method,
      headers: { ...(body !== undefined && { "content-type": "application/json" }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json");
    const answer = { status: response.status, body: isJson ? JSON.parse(text) : text };
    if (response.ok && path.endsWith("/messages")) await judged(answer.body);
    return answer;
  };

  /** `POST /api/tools/ack`. */
  ack = (toolCallId, result) => {
    const requestedAt = new Date().toISOString();
    return this.api("/api/tools/ack", { body: { toolCallId, status: "success", requestedAt, ...result } });
  };

  /** What must hold at the end of every flow. */
  async end() {
    const counts = () => this.clients.map(({ sends, resumes }) => ({ sends, resumes }));
    const before = counts();
    for (const client of this.clients) await client.idle();
    assert.deepEqual(counts(), before, "no client sends anything after its flow");
    await this.close();
    for (const tab of this.#tabs) await tab.check({ allow: this.#allowed });
  }

  async close() {
    for (const client of this.clients.splice(0)) await client.close();
  }
}

async function playOnce(server, kind, flow) {
  const play = new Play(server, kind);
  try {
    await flow(play);
    await play.end();
  } finally {
    await play.close();
  }
}

/**
 * A flow that is known to fail, and why: it runs and its failure is reported, but does not fail the suite. `fails` says
 * with which clients, if not with all.
 */
export const known = (why, flow, fails = () => true) =>
  Object.assign((play) => flow(play), { todo: (kind) => fails(kind) && why });

/** `flows` are functions of a `Play`; their names become the test names. */
export function play(title, flows, { kinds = KINDS, atOnce = AT_ONCE, ...options } = {}) {
  describe(title, { concurrency: atOnce }, () => {
    let server;
    before(async () => {
      server = await startServer({ script, ...options });
    });
    after(() => server?.stop());
    for (const kind of kinds) {
      for (const [name, flow] of Object.entries(flows)) {
        test(`${kind.name}: ${name}`, { timeout: TIMEOUT_MS, todo: flow.todo?.(kind) }, () =>
          playOnce(server, kind, flow),
        );
      }
    }
  });
}

/** Like `play`, with a separate server for each run: for flows that end or restart it. */
export function playAlone(title, flows, { kinds = KINDS, atOnce = AT_ONCE, ...options } = {}) {
  describe(title, { concurrency: atOnce }, () => {
    for (const kind of kinds) {
      for (const [name, flow] of Object.entries(flows)) {
        test(`${kind.name}: ${name}`, { timeout: TIMEOUT_MS, todo: flow.todo?.(kind) }, async () => {
          const server = await startServer({ script, ...options });
          try {
            await playOnce(server, kind, flow);
          } finally {
            await server.stop();
          }
        });
      }
    }
  });
}
