// The real server as a process under fault injection: signals, memory, exit codes and its log are observable. It has
// the same interface as `../server.mjs`, as far as the crash suite uses it.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { binary, environment } from "../server.mjs";

const STARTS_WITHIN_MS = 20_000;
const ENDS_WITHIN_MS = 35_000;

/** No fault may exhaust the machine: this is far above any test's limit. */
const ADDRESS_SPACE_KB = 6 * 1024 * 1024;

const LOG_KEPT = 1 << 20;

/** Why a server did not start: its exit code and its output. */
export class NotStarted extends Error {
  constructor(code, said) {
    super(`the server did not start, exit code ${code}\n${said}`);
    this.code = code;
    this.said = said;
  }
}

export class Process {
  url;
  /** When each process was gone. */
  deaths = [];
  /** What no server may do on its own: exit, or panic. */
  faults = [];
  /** The exit code of the last process, or the name of the signal that ended it. */
  code;
  /** The log of the last process. */
  said = "";
  folder;
  data;
  #child;
  #exited;
  #isEnding = false;

  /** Creates a folder with these settings; `data` is the folder of the chats, if different. */
  static async prepare(settings, { data } = {}) {
    const server = new Process();
    server.folder = await mkdtemp(join(tmpdir(), "holdpoint-fault-"));
    server.data = data ?? join(server.folder, "data");
    await writeFile(join(server.folder, "holdpoint.toml"), settings);
    return server;
  }

  get pid() {
    return this.#child.pid;
  }

  get isUp() {
    return !this.#isEnding && this.#child?.exitCode === null && this.#child?.signalCode === null;
  }

  /** Starts it with this script for the model: first on a free port, then always on the same one. */
  async start(script, { within = STARTS_WITHIN_MS } = {}) {
    const file = (name) => join(this.folder, name);
    await writeFile(file("script.json"), JSON.stringify(script));
    const listen = this.url ? new URL(this.url).host : "127.0.0.1:0";
    const args = ["serve", "--listen", listen, "--data", this.data, "--config", file("holdpoint.toml")];
    args.push("--model", `script:${file("script.json")}`);
    const limited = `ulimit -v ${ADDRESS_SPACE_KB}; exec "$@"`;
    const options = { env: environment(), stdio: ["ignore", "pipe", "pipe"] };
    this.#child = spawn("/bin/sh", ["-c", limited, "sh", binary(), ...args], options);
    this.#isEnding = false;
    this.code = undefined;
    this.said = "";
    this.url = await this.#ready(this.#child, within);
    return this;
  }

  #ready(child, within) {
    const kill = () => child.kill("SIGKILL");
    process.once("exit", kill);
    let out = "";
    child.stderr.setEncoding("utf8").on("data", (text) => {
      this.said = (this.said + text).slice(-LOG_KEPT);
    });
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#isEnding = true;
        kill();
        reject(new NotStarted("none: it took too long", out + this.said));
      }, within);
      // Not "exit": the last output arrives after that.
      this.#exited = new Promise((gone) => {
        child.once("close", (code, signal) => {
          process.removeListener("exit", kill);
          clearTimeout(timer);
          const at = Date.now();
          this.deaths.push({ from: at, to: at });
          this.code = code ?? signal;
          if (!this.#isEnding) this.faults.push(`it ended by itself with ${this.code}: ${this.said.slice(-2000)}`);
          if (this.said.includes("panicked at")) this.faults.push(this.said.slice(-2000));
          reject(new NotStarted(this.code, out + this.said));
          gone();
        });
      });
      child.once("error", reject);
      child.stdout.setEncoding("utf8").on("data", (text) => {
        out += text;
        const url = out.match(/https?:\/\/\S+(?=\s)/)?.[0];
        if (!url) return;
        clearTimeout(timer);
        resolve(url);
      });
    });
  }

  /** Sends a signal that does not end it. */
  signal(name) {
    this.#child.kill(name);
  }

  /** Asks it to exit; `gone` waits for that. */
  terminate() {
    this.#isEnding = true;
    this.#child.kill("SIGTERM");
  }

  kill() {
    if (!this.isUp) return;
    this.#isEnding = true;
    this.#child.kill("SIGKILL");
  }

  /** Waits until the process is gone. Returns its exit code. */
  async gone() {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error("the server did not end")), ENDS_WITHIN_MS);
    });
    await Promise.race([this.#exited, late]).finally(() => clearTimeout(timer));
    return this.code;
  }

  /** Shuts it down in order, with everything in one file. Returns its exit code. */
  stop() {
    this.terminate();
    return this.gone();
  }

  /** Its memory use, in MB. */
  rss() {
    const status = readFileSync(`/proc/${this.pid}/status`, "utf8");
    return Number(status.match(/^VmRSS:\s+(\d+) kB/m)?.[1] ?? 0) / 1024;
  }

  /** Ends it, whatever its state, and removes the folder. */
  async remove() {
    if (this.isUp) {
      this.#child.kill("SIGCONT");
      this.kill();
      await this.gone();
    }
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** The peak memory growth of a server during `what`, in MB. */
export async function growth(server, what, { limit = Number.POSITIVE_INFINITY } = {}) {
  const before = server.rss();
  let most = before;
  const timer = setInterval(() => {
    if (!server.isUp) return;
    most = Math.max(most, server.rss());
    // Already far too much: continuing could only hurt the machine.
    if (most - before > limit) server.kill();
  }, 20);
  try {
    await what();
  } finally {
    clearInterval(timer);
  }
  if (server.isUp) most = Math.max(most, server.rss());
  return most - before;
}
