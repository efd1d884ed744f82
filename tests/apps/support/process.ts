import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Running, start as startProcess } from "../../support/process.mjs";

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

/** Starts a command that runs until it is killed, with all its children: npm does not pass a signal on to what it runs. */
export function start(command: string, args: readonly string[], options: Options): Running {
  return startProcess(command, args, { ...options, isGroup: true });
}

/** Runs a command to its end, and returns what it printed. */
export async function run(command: string, args: readonly string[], options: Options): Promise<string> {
  const running = start(command, args, options);
  const code = await running.closed;
  if (code !== 0)
    throw new Error(`${command} ${args.join(" ")} ended with ${code} in ${options.cwd}:\n${running.output}`);
  return running.output;
}

/** Waits until the address answers at all. */
export async function answers(address: string, running: Running): Promise<void> {
  const deadline = Date.now() + 60_000;
  const isUp = async () => {
    const response = await fetch(address, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
    await response?.body?.cancel();
    return response?.ok === true;
  };
  while (!(await isUp())) {
    if (!running.isUp) throw new Error(`it ended with ${await running.exited}:\n${running.output}`);
    if (Date.now() > deadline) throw new Error(`${address} does not answer:\n${running.output}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
