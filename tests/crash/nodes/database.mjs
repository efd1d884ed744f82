// The database of the nodes: a PostgreSQL, or a pair of a primary and a synchronous standby.

import { until } from "../wait.mjs";
import { Postgres } from "./postgres.mjs";
import { Wire } from "./wire.mjs";

const REPLICATES_WITHIN_MS = 20_000;

/** How a lost primary behaves: it refuses connections, or it accepts them and does not answer. */
export const LOSSES = ["refuses", "hangs"];

export class Database {
  #primary;
  #standby;
  #lost;
  /** Ends when there is a primary that takes connections. */
  #back = Promise.resolve();
  #isBack = () => {};

  static async start({ hasStandby }) {
    const database = new Database();
    database.#primary = await Postgres.start();
    if (hasStandby) await database.#replicate();
    return database;
  }

  /** Gives the primary a standby, on this port. */
  async #replicate(port) {
    this.#standby = await this.#primary.standby(port);
    // Not before the backup: the standby would have this setting too, and wait for a standby of its own.
    await this.#primary.requireStandby();
    await this.#replicated();
  }

  async #replicated() {
    const isReplicated = () => this.#primary.isReplicated().catch(() => false);
    if (!(await until(isReplicated, { within: REPLICATES_WITHIN_MS }))) throw new Error("the standby does not follow");
  }

  get #servers() {
    return [this.#primary, this.#standby, this.#lost].filter((server) => server !== undefined);
  }

  /** The wires of one node, and the URL that names them all. */
  async wires() {
    const wires = await Promise.all(this.#servers.map(({ port }) => Wire.to(port)));
    return new Wires(wires, this.#primary.url(wires.map(({ port }) => port).join(",127.0.0.1:")));
  }

  /** Waits until no fault has taken the primary away. */
  back() {
    return this.#back;
  }

  #leaves() {
    this.#back = new Promise((resolve) => {
      this.#isBack = resolve;
    });
  }

  async restart(mode) {
    this.#leaves();
    await this.#primary.restart(mode);
    this.#isBack();
    if (this.#standby) await this.#replicated();
  }

  /** The primary is stopped as a crash would. */
  halt() {
    this.#leaves();
    return this.#primary.halt();
  }

  async resume() {
    await this.#primary.resume();
    this.#isBack();
    if (this.#standby) await this.#replicated();
  }

  /** The primary is lost for ever, in one of the `LOSSES`. */
  lose(how) {
    if (how === "refuses") return this.halt();
    this.#leaves();
    return this.#primary.hang();
  }

  /** After `lose`: the standby takes its place. */
  async failOver() {
    await this.#standby.promote();
    [this.#lost, this.#primary, this.#standby] = [this.#primary, this.#standby, undefined];
    this.#isBack();
  }

  /** After `failOver`: a new standby is at the address of the lost primary. */
  async repair() {
    const { port } = this.#lost;
    await this.#lost.stop();
    this.#lost = undefined;
    await this.#replicate(port);
  }

  sql(statements) {
    return this.#primary.sql(statements);
  }

  dump() {
    return this.#primary.dump();
  }

  async stop() {
    await Promise.all(this.#servers.map((server) => server.stop()));
  }
}

/** All wires between one node and the database, which are cut together. */
class Wires {
  constructor(wires, url) {
    this.all = wires;
    this.url = url;
  }

  cut(state) {
    for (const wire of this.all) wire.cut(state);
  }

  heal(how) {
    for (const wire of this.all) wire.heal(how);
  }

  async close() {
    await Promise.all(this.all.map((wire) => wire.close()));
  }
}
