// The real server as a process, on one folder and one port, however often it is killed.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const STARTS_WITHIN_MS = 30_000;
const ENDS_WITHIN_MS = 10_000;

/** Ends the server with the suite, also if the suite is killed. util-linux has it; `exec` keeps the process id. */
const BOUND = existsSync("/usr/bin/setpriv") ? ["/usr/bin/setpriv", "--pdeathsig", "KILL", "--"] : [];

/** HOLDPOINT_BIN, or cargo's latest build in the usual places. */
export function binary() {
  const named = process.env.HOLDPOINT_BIN;
  const places = named
    ? [named]
    : ["debug", "release"].map((profile) =>
        fileURLToPath(new URL(`../../target/${profile}/holdpoint`, import.meta.url)),
      );
  const found = places.find((place) => existsSync(place));
  if (found) return found;
  throw new Error(`no holdpoint binary: build it, or name one in HOLDPOINT_BIN. Looked at: ${places.join(", ")}`);
}

/** Without variables that the server would read as settings, such as HOLDPOINT_BIN. */
export const environment = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("HOLDPOINT_")));

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
  /** The log of the last process. */
  said = "";
  #place;
  #program;
  #env;
  #log;
  #child;
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
    const listen = this.url ? new URL(this.url).host : "127.0.0.1:0";
    const args = ["serve", "--listen", listen, ...this.#log, "--config", this.#file("holdpoint.toml")];
    args.push("--model", `script:${this.#file("script.json")}`);
    const [program, ...first] = [...BOUND, this.#program ?? binary()];
    const env = { ...environment(), ...this.#env };
    this.#child = spawn(program, [...first, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
    this.#isKilled = false;
    this.#isTerminated = false;
    this.url = await this.#ready(this.#child);
  }

  #ready(child) {
    // Whatever happens to the run, no server is left behind.
    const kill = () => child.kill("SIGKILL");
    process.once("exit", kill);
    let [out, errors] = ["", ""];
    return new Promise((resolve, reject) => {
      const fail = (why) => reject(new Error(`the server did not start: ${why}\n${out}${errors}`));
      const timer = setTimeout(() => {
        fail("it took too long");
        kill();
      }, STARTS_WITHIN_MS);
      this.#exited = new Promise((gone) => {
        child.once("exit", (code, signal) => {
          process.removeListener("exit", kill);
          const at = Date.now();
          this.deaths.push({ from: at, to: at });
          clearTimeout(timer);
          fail(`it ended with ${code ?? signal}`);
          const isExpected = this.#isKilled || (this.#isTerminated && code === 0);
          if (!isExpected) this.faults.push(`it ended by itself with ${code ?? signal}: ${errors.slice(-2000)}`);
          if (errors.includes("panicked at")) this.faults.push(errors.slice(-2000));
          gone();
        });
      });
      child.once("error", (error) => fail(error.message));
      child.stderr.setEncoding("utf8").on("data", (text) => {
        errors += text;
        this.said = errors;
      });
      child.stdout.setEncoding("utf8").on("data", (text) => {
        out += text;
        const url = out.match(/https?:\/\/\S+(?=\s)/)?.[0];
        if (!url) return;
        clearTimeout(timer);
        resolve(url);
      });
    });
  }

  get isUp() {
    return !this.#isKilled && !this.#isTerminated && this.#child?.exitCode === null && this.#child?.signalCode === null;
  }

  /** At once, without waiting for anything. */
  kill() {
    if (!this.isUp) return;
    this.#isKilled = true;
    this.#child.kill("SIGKILL");
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
    if (this.isUp) this.#child.kill(name);
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
