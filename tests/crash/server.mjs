// The real server as a process, on one folder and one port, however often it is killed.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch } from "../support/server.mjs";

const ENDS_WITHIN_MS = 10_000;

/** `isIdempotent` allows the server to repeat a cut-off call: the suite has to detect that. */
export const settings = (ledgerUrl, isIdempotent) =>
  ["always", "never"]
    .map((approval) => {
      const tool = approval === "always" ? "transfer" : "note";
      return `[tools.${tool}]
execution = "server"
description = "An entry in the ledger"
url = "${ledgerUrl}"
allow_private = true
approval = "${approval}"
approval_timeout_sec = 0
idempotent = ${isIdempotent}
input_schema = { type = "object", properties = { ref = { type = "string" }, amount = { type = "number" } } }
`;
    })
    .join("\n");

export class Server {
  url;
  /** When each process was gone: `{from, to}`. */
  deaths = [];
  /** Processes that exited or panicked without being killed. */
  faults = [];
  #place;
  #program;
  #env;
  #log;
  #running;
  #exited;
  #isKilled = false;
  #isTerminated = false;

  /**
   * Creates the folder; `start` starts the process. `place` says where the chats are, if not in this folder, `more` are
   * further settings, `env` further variables, and `old` is the program until `terminate`, if it is another one.
   */
  static async prepare(ledgerUrl, { isIdempotent = false, place, more = "", env = {}, old } = {}) {
    const server = new Server();
    server.#program = old;
    server.#env = env;
    server.#place = await mkdtemp(join(tmpdir(), "holdpoint-crash-"));
    server.#log = place ?? ["--data", server.#file("data")];
    await writeFile(server.#file("holdpoint.toml"), more + settings(ledgerUrl, isIdempotent));
    return server;
  }

  get folder() {
    return this.#place;
  }

  #file(name) {
    return join(this.#place, name);
  }

  /** Starts the process with this script for the model: first on a free port, then always on the same one. */
  async start(script) {
    await writeFile(this.#file("script.json"), JSON.stringify(script));
    const args = [...this.#log, "--config", this.#file("holdpoint.toml")];
    args.push("--model", `script:${this.#file("script.json")}`);
    const listen = this.url && new URL(this.url).host;
    this.#running = launch(args, { listen, program: this.#program, env: this.#env });
    this.#isKilled = false;
    this.#isTerminated = false;
    this.#exited = this.#watch(this.#running);
    this.url = await this.#running.url;
  }

  async #watch(running) {
    const code = await running.exited;
    const at = Date.now();
    this.deaths.push({ from: at, to: at });
    const isExpected = this.#isKilled || (this.#isTerminated && code === 0);
    if (!isExpected) this.faults.push(`it ended by itself with ${code}: ${running.errors.slice(-2000)}`);
    if (running.errors.includes("panicked at")) this.faults.push(running.errors.slice(-2000));
  }

  /** The log of the last process. */
  get said() {
    return this.#running?.errors ?? "";
  }

  get isUp() {
    return !this.#isKilled && !this.#isTerminated && this.#running?.isUp === true;
  }

  /** At once, without waiting for anything. */
  kill() {
    if (!this.isUp) return;
    this.#isKilled = true;
    this.#running.signal("SIGKILL");
  }

  /** Asks it to end, and waits until it has. The next process is the program under test. */
  async terminate() {
    this.signal("SIGTERM");
    this.#isTerminated = true;
    await this.gone();
    this.#program = undefined;
  }

  /** A signal that does not end it. */
  signal(name) {
    if (this.isUp) this.#running.signal(name);
  }

  /** The process is gone, and its port is free. */
  async gone() {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error("the server did not end")), ENDS_WITHIN_MS);
    });
    await Promise.race([this.#exited, late]).finally(() => clearTimeout(timer));
  }

  remove() {
    return rm(this.#place, { recursive: true, force: true });
  }
}
