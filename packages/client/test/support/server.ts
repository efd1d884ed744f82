import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The server's binary: `HOLDPOINT_BIN`, else what `cargo build` has made. */
export function binary(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  const built = (kind: string) => join(here, "../../../../target", kind, "holdpoint");
  const candidates = [process.env.HOLDPOINT_BIN, built("release"), built("debug")].filter((path) => path !== undefined);
  const found = candidates.find((path) => existsSync(path));
  if (found === undefined) {
    throw new Error(
      `There is no holdpoint binary. Run "cargo build --release" or set HOLDPOINT_BIN. Looked at: ${candidates.join(", ")}`,
    );
  }
  return found;
}

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
  const listen = options.isDurable ? `127.0.0.1:${await freePort()}` : "127.0.0.1:0";
  const store = options.isDurable ? ["--data", join(folder, "data")] : ["--ephemeral"];
  const args = ["serve", "--listen", listen, ...store];
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
  // The server reads HOLDPOINT_… as settings, and this is none.
  const { HOLDPOINT_BIN: _, ...environment } = process.env;
  const env = { ...environment, ...options.env };
  const spawnServer = () => spawn(binary(), args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  let child = spawnServer();
  const url = await address(child);
  const isGone = () => child.exitCode !== null || child.signalCode !== null;
  const kill = async () => {
    if (isGone()) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
  };
  const restart = async () => {
    if (!isGone()) return;
    child = spawnServer();
    await address(child);
  };
  const stop = async () => {
    await kill();
    rmSync(folder, { recursive: true, force: true });
  };
  return { url, kill, restart, stop };
}

/** A port that nobody listens on. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}

/** The line with the address, which comes once the server can answer. */
function address(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    const hear = (data: Buffer) => {
      said += String(data);
      const found = /http:\/\/[\d.:]+/.exec(said);
      if (found !== null) resolve(found[0]);
    };
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`The server ended with ${code}: ${said}`)));
  });
}
