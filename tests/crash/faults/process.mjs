// The real server as a process under fault injection: signals, memory, exit codes and its log are observable. It has
// the same interface as `../server.mjs`, as far as the crash suite uses it.

import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch } from "../../support/server.mjs";

export { NotStarted } from "../../support/server.mjs";

const ENDS_WITHIN_MS = 35_000;

/** No fault may exhaust the machine: this is far above any test's limit. */
const ADDRESS_SPACE_KB = 6 * 1024 * 1024;

export class Process {
  url;
  /** When each process was gone. */
  deaths = [];
  /** What no server may do on its own: exit, or panic. */
  faults = [];
  /** The exit code of the last process, or the name of the signal that ended it. */
  code;
  folder;
  data;
  #running;
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
    return this.#running.pid;
  }

  get isUp() {
    return !this.#isEnding && this.#running?.isUp === true;
  }

  /** Starts it with this script for the model: first on a free port, then always on the same one. */
  async start(script, { within } = {}) {
    const file = (name) => join(this.folder, name);
    await writeFile(file("script.json"), JSON.stringify(script));
    const args = ["--data", this.data, "--config", file("holdpoint.toml"), "--model", `script:${file("script.json")}`];
    const listen = this.url && new URL(this.url).host;
    const around = ["/bin/sh", "-c", `ulimit -v ${ADDRESS_SPACE_KB}; exec "$@"`, "sh"];
    this.#running = launch(args, { listen, around, startsWithinMs: within });
    this.#isEnding = false;
    this.code = undefined;
    this.#exited = this.#watch(this.#running);
    try {
      this.url = await this.#running.url;
    } catch (error) {
      // One that took too long is killed.
      this.#isEnding = true;
      throw error;
    }
    return this;
  }

  async #watch(running) {
    // Not "exited": the last output arrives after that.
    this.code = await running.closed;
    const at = Date.now();
    this.deaths.push({ from: at, to: at });
    if (!this.#isEnding) this.faults.push(`it ended by itself with ${this.code}: ${this.said.slice(-2000)}`);
    if (this.said.includes("panicked at")) this.faults.push(this.said.slice(-2000));
  }

  /** The log of the last process. */
  get said() {
    return this.#running?.errors ?? "";
  }

  /** Sends a signal that does not end it. */
  signal(name) {
    this.#running.signal(name);
  }

  /** Asks it to exit; `gone` waits for that. */
  terminate() {
    this.#isEnding = true;
    this.#running.signal("SIGTERM");
  }

  kill() {
    if (!this.isUp) return;
    this.#isEnding = true;
    this.#running.signal("SIGKILL");
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
      this.#running.signal("SIGCONT");
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
