// Processes that the tests start: what they print is kept, and none is left behind.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";

/** How much of the output is kept, of its end. */
const KEPT = 1 << 20;

/** Ends a process with the suite, also if the suite is killed. util-linux has it; `exec` keeps the process id. */
const BOUND = existsSync("/usr/bin/setpriv") ? ["/usr/bin/setpriv", "--pdeathsig", "KILL", "--"] : [];

/** What a process gets of this one: no settings of a server, which every `HOLDPOINT_…` would be, and nothing of npm. */
export const environment = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|HOLDPOINT_)/.test(name)));

/** Starts a command that runs until it is ended. With `isGroup`, its children end with it, as npm's have to. */
export function start(command, args, options) {
  return new Running(command, args, options);
}

export class Running {
  /** What it has printed, to both outputs in the order in which it arrived. */
  output = "";
  /** What it has printed to its standard output. */
  out = "";
  /** What it has printed to its standard error. */
  errors = "";
  /** Its exit code, or the name of the signal that ended it. */
  exited;
  /** The same, when the last of its output has arrived. */
  closed;
  #child;
  #isGroup;

  constructor(command, args, { cwd, env, isGroup = false } = {}) {
    const [program, ...first] = [...BOUND, command];
    const stdio = ["ignore", "pipe", "pipe"];
    this.#isGroup = isGroup;
    this.#child = spawn(program, [...first, ...args], {
      cwd,
      env: { ...environment(), ...env },
      stdio,
      detached: isGroup,
    });
    const kill = () => this.signal("SIGKILL");
    process.once("exit", kill);
    const ended = (event) =>
      new Promise((resolve, reject) => {
        this.#child.once("error", reject);
        this.#child.once(event, (code, signal) => {
          process.removeListener("exit", kill);
          resolve(code ?? signal);
        });
      });
    this.exited = ended("exit");
    this.closed = ended("close");
    // Whoever waits for the start is told.
    for (const end of [this.exited, this.closed]) end.catch(() => process.removeListener("exit", kill));
    this.#keep("stdout", "out");
    this.#keep("stderr", "errors");
  }

  #keep(stream, name) {
    this.#child[stream].setEncoding("utf8").on("data", (text) => {
      this[name] = (this[name] + text).slice(-KEPT);
      this.output = (this.output + text).slice(-KEPT);
    });
  }

  get pid() {
    return this.#child.pid;
  }

  get isUp() {
    return this.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Calls back with everything that it prints to its standard output, and whenever that has grown. */
  onOutput(listen) {
    this.#child.stdout.on("data", () => listen(this.out));
  }

  signal(name) {
    if (!this.isUp) return;
    if (this.#isGroup) process.kill(-this.pid, name);
    else this.#child.kill(name);
  }

  /** Ends it at once, like a power cut, and waits until it is gone. */
  async kill() {
    this.signal("SIGKILL");
    await this.exited.catch(() => {});
  }

  /** Sends a signal that ends it, and waits until it has. One that is asked to end does so in order. */
  async end(signal, withinMs) {
    this.signal(signal);
    let timer;
    const late = new Promise((resolve) => {
      timer = setTimeout(() => resolve("late"), withinMs);
    });
    const code = await Promise.race([this.exited, late]).finally(() => clearTimeout(timer));
    if (code === "late") {
      await this.kill();
      throw new Error(`it did not end within ${withinMs} ms of ${signal}\n${this.output}`);
    }
    if (signal === "SIGTERM" && code !== 0) throw new Error(`it ended with ${code}\n${this.output}`);
    return code;
  }
}
