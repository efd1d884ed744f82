// Several nodes on one database, in the place of the one server.

import { Server } from "../server.mjs";
import { pause, until } from "../wait.mjs";
import { Database } from "./database.mjs";

export const LEASE_MS = 1000;
const READY_WITHIN_MS = 20_000;

export class Cluster {
  nodes = [];
  /** Times in which a call may have been cut off: `{from, to}`. */
  deaths = [];
  #database;
  #wires = [];
  #script;
  /** Faults that are in force or were, as `{from, to?}`. */
  #troubles = [];
  #faults = [];
  #pick;

  static async prepare(
    ledgerUrl,
    { count, script, random, isIdempotent, leaseMs = LEASE_MS, hasStandby = false, old },
  ) {
    const cluster = new Cluster();
    cluster.#script = script;
    cluster.#pick = (list) => random.pick(list);
    cluster.#database = await Database.start({ hasStandby });
    for (let number = 0; number < count; number += 1) {
      const wires = await cluster.#database.wires();
      cluster.#wires.push(wires);
      const more = `log = "${wires.url}"\nlease_sec = ${leaseMs / 1000}\n`;
      cluster.nodes.push(await Server.prepare(ledgerUrl, { isIdempotent, place: [], more, old }));
    }
    return cluster;
  }

  get database() {
    return this.#database;
  }

  get folder() {
    return this.nodes.map(({ folder }) => folder).join(" ");
  }

  /** That of any node, whether it is in trouble or not. */
  get url() {
    return this.#pick(this.nodes).url;
  }

  /** Nodes that exited, panicked or did not become ready by themselves. */
  get faults() {
    return [...this.#faults, ...this.nodes.flatMap(({ faults }) => faults)];
  }

  /** Between it and the database. */
  wireOf(node) {
    return this.#wires[this.nodes.indexOf(node)];
  }

  /** Starts the nodes that do not run, and waits until all are ready. */
  async start() {
    await Promise.all(this.nodes.filter(({ isUp }) => !isUp).map((node) => node.start(this.#script)));
    await this.ready();
  }

  /** A node does not start without its database: another fault may have taken that away. */
  async restart(node) {
    await this.#database.back();
    await node.start(this.#script);
  }

  /** Waits until these nodes say that they are ready. */
  async ready(nodes = this.nodes) {
    for (const { url } of nodes) {
      const isReady = () =>
        fetch(`${url}/ready`, { signal: AbortSignal.timeout(2000) }).then(
          async (response) => {
            await response.text();
            return response.ok;
          },
          () => false,
        );
      const became = await until(isReady, { within: READY_WITHIN_MS });
      if (!became) this.#faults.push(`${url}/ready is not 200 ${READY_WITHIN_MS} ms after the fault`);
    }
  }

  /** The batches of a chat, as lines: position, owner after it, and the facts that tell the story. */
  async factsOf(chat) {
    const query = `SELECT first, batches.owner, convert_from(payload, 'UTF8') FROM batches
      JOIN chats ON number = chat WHERE id = convert_to('${chat}', 'UTF8') ORDER BY first`;
    return (await this.#database.sql(query)).split("\n").filter(Boolean).map(batchLine);
  }

  /** A fault begins. Call the result when everything is healed and ready. */
  trouble() {
    const trouble = { from: Date.now() };
    this.#troubles.push(trouble);
    return () => {
      trouble.to = Date.now();
    };
  }

  /** Whether a fault was in force at any time since then. */
  wasTroubled(since) {
    return this.#troubles.some(({ to = Number.POSITIVE_INFINITY }) => to >= since);
  }

  kill() {
    for (const node of this.nodes) node.kill();
  }

  async gone() {
    await Promise.all(this.nodes.map((node) => node.gone()));
  }

  /** Stops everything. */
  async remove() {
    this.kill();
    await pause(50);
    await Promise.all([...this.#wires.map((wire) => wire.close()), this.#database.stop()]);
    await Promise.all(this.nodes.map((node) => node.remove()));
  }
}

/** Text is left out. */
function batchLine(row) {
  const [first, owner, ...payload] = row.split("|");
  const facts = JSON.parse(payload.join("|")).filter(({ fact }) => !/^(block|input)-/.test(fact));
  return `${first} owner ${owner.slice(0, 8) || "none"} ${facts.map((fact) => JSON.stringify(fact)).join(" ")}`;
}
