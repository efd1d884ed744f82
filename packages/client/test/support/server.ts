import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { started } from "../../../../tests/support/server.mjs";

/** A server process of its own. */
export type TestServer = {
  url: string;
  /** Ends the process as a crash would. */
  kill: () => Promise<void>;
  /** Starts it, unless it runs, after {@link kill}: at the same address, with what it had stored, if it stores anything. */
  restart: () => Promise<void>;
  stop: () => Promise<void>;
};

/** What the built-in model plays. */
export type Script = { turns: { when?: string; steps: object[][] }[] };

/** What a test wants of its server. */
export type ServerSettings = {
  script?: Script;
  env?: Record<string, string>;
  config?: string;
  /** Whether it keeps what it has stored over a restart. */
  isDurable?: boolean;
};

/** Starts a server on a free port, with nothing stored. */
export async function startServer(options: ServerSettings = {}): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), "holdpoint-client-"));
  const args = options.isDurable ? ["--data", join(folder, "data")] : ["--ephemeral"];
  if (options.script !== undefined) {
    const file = join(folder, "script.json");
    writeFileSync(file, JSON.stringify(options.script));
    args.push("--model", `script:${file}`);
  }
  if (options.config !== undefined) {
    const file = join(folder, "holdpoint.toml");
    writeFileSync(file, options.config);
    args.push("--config", file);
  }
  const settings = { cwd: folder, env: options.env };
  let { running, url } = await started(args, settings);
  const kill = () => running.kill();
  const restart = async () => {
    if (running.isUp) return;
    ({ running, url } = await started(args, { ...settings, listen: new URL(url).host }));
  };
  const stop = async () => {
    await kill();
    rmSync(folder, { recursive: true, force: true });
  };
  return { url, kill, restart, stop };
}
