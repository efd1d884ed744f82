import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The root of the repository. */
export const repository = fileURLToPath(new URL("../../../", import.meta.url));

/** A folder of these tests that is kept between runs. Every clone has its own. */
export function folderOf(name: string): string {
  const clone = createHash("sha256").update(repository).digest("hex").slice(0, 12);
  return join(tmpdir(), `holdpoint-apps-${clone}`, name);
}

interface Options {
  cwd: string;
  env?: Record<string, string>;
}

/** A process with all its children. */
export interface Running {
  /** What it has printed. */
  output: () => string;
  /** Rejects if it ends. */
  ended: Promise<never>;
  /** Kills it and its children at once, like a power cut. */
  kill: () => Promise<void>;
}

/** Starts a command that runs until it is killed. */
export function start(command: string, args: readonly string[], options: Options): Running {
  const child = launch(command, args, options);
  const output = collect(child);
  const exit = exitOf(child);
  const ended = exit.then((code): never => {
    throw new Error(`${command} ${args.join(" ")} ended with ${code}:\n${output()}`);
  });
  // It ends when it is killed, whether or not somebody waits for it.
  ended.catch(() => {});
  const kill = async () => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      // Its own process group: npm does not pass a signal on to what it runs.
      process.kill(-child.pid, "SIGKILL");
    }
    await exit.catch(() => {});
  };
  return { output, ended, kill };
}

/** Runs a command to its end, and returns what it printed. */
export async function run(command: string, args: readonly string[], options: Options): Promise<string> {
  const child = launch(command, args, options);
  const output = collect(child);
  const code = await exitOf(child);
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code} in ${options.cwd}:\n${output()}`);
  return output();
}

function launch(command: string, args: readonly string[], { cwd, env }: Options): ChildProcess {
  return spawn(command, args, {
    cwd,
    env: { ...inherited(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
}

/**
 * npm hands its own options down to the scripts that it runs, and the workspace that these tests belong to is one of
 * them. The server reads every `HOLDPOINT_…` variable as a setting.
 */
function inherited(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|HOLDPOINT_)/.test(name)));
}

function collect(child: ChildProcess): () => string {
  let output = "";
  const read = (data: Buffer) => {
    output += data.toString();
  };
  child.stdout?.on("data", read);
  child.stderr?.on("data", read);
  return () => output;
}

function exitOf(child: ChildProcess): Promise<number | string | null> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
}

/** Waits until the address answers at all. */
export async function answers(address: string, running: Running): Promise<void> {
  const deadline = Date.now() + 60_000;
  const isUp = async () => {
    const response = await fetch(address, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
    await response?.body?.cancel();
    return response?.ok === true;
  };
  while (!(await Promise.race([isUp(), running.ended]))) {
    if (Date.now() > deadline) throw new Error(`${address} does not answer:\n${running.output()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
