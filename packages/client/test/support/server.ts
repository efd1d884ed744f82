import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The server's binary: `HOLDPOINT_BIN`, else what `cargo build` has made. */
export function binary(): string {
  const built = (kind: string) => fileURLToPath(new URL(`../../../../target/${kind}/holdpoint`, import.meta.url));
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
export type TestServer = { url: string; stop: () => Promise<void> };

/** What the built-in model plays. */
export type Script = { turns: { when?: string; steps: object[][] }[] };

/** Starts a server on a free port, with nothing stored. */
export async function startServer(
  options: { script?: Script; env?: Record<string, string>; config?: string } = {},
): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), "holdpoint-client-"));
  const args = ["serve", "--listen", "127.0.0.1:0", "--ephemeral"];
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
  const child = spawn(binary(), args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  const url = await address(child);
  const stop = async () => {
    if (child.exitCode === null) {
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await gone;
    }
    rmSync(folder, { recursive: true, force: true });
  };
  return { url, stop };
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
