import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { preview } from "vite";

/** A Holdpoint server of one test's own, and where its console is. */
export interface TestServer {
  /** Where the console is served. */
  url: string;
  stop: () => Promise<void>;
}

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** The binary under test: the one that is named, or the newest kind that is built. */
export function binary(): string {
  const named = process.env.HOLDPOINT_BIN;
  const candidates = named ? [named] : [`${root}target/release/holdpoint`, `${root}target/debug/holdpoint`];
  const found = candidates.find((path) => existsSync(path));
  if (found === undefined)
    throw new Error(`No holdpoint binary at ${candidates.join(" or ")}: build it, or set HOLDPOINT_BIN.`);
  return found;
}

/** Starts the binary on a port of its choice. With `HOLDPOINT_E2E_SERVE=preview` the console comes from `dist` instead of from it. */
export async function startServer(args: readonly string[] = [], env: Record<string, string> = {}): Promise<TestServer> {
  const server = spawn(binary(), ["serve", "--listen", "127.0.0.1:0", "--ephemeral", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...inherited(), ...env },
  });
  const backend = await addressOf(server);
  const ended = new Promise<void>((resolve) => server.once("exit", () => resolve()));
  const stop = async () => {
    server.kill("SIGKILL");
    await ended;
  };
  if (process.env.HOLDPOINT_E2E_SERVE !== "preview") return { url: backend, stop };
  const toBackend = { target: backend, changeOrigin: true, ws: true, headers: { origin: backend } };
  const policy = (await fetch(backend)).headers.get("content-security-policy") ?? "";
  const console = await preview({
    root: `${root}apps/web`,
    logLevel: "error",
    preview: {
      // What the binary does not allow the page to do, the page should not need here either.
      headers: { "content-security-policy": policy },
      host: "127.0.0.1",
      port: 0,
      proxy: { "/api": toBackend, "/stream": toBackend, "/live": toBackend },
    },
  });
  const address = console.httpServer.address();
  if (address === null || typeof address === "string") throw new Error("The preview server has no port.");
  return {
    url: `http://127.0.0.1:${address.port}`,
    stop: async () => {
      await console.close();
      await stop();
    },
  };
}

/** The server takes every `HOLDPOINT_…` for a setting of its own, and refuses those of the tests. */
function inherited(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("HOLDPOINT_")));
}

/** `serve` prints its address once it can answer. */
function addressOf(server: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = "";
    const read = (data: Buffer) => {
      output += data.toString();
      const address = /https?:\/\/[\d.]+:\d+/.exec(output)?.[0];
      if (address) resolve(address);
    };
    server.stdout?.on("data", read);
    server.stderr?.on("data", read);
    server.once("exit", (code) => reject(new Error(`holdpoint ended with ${code} before it could answer:\n${output}`)));
    server.once("error", reject);
  });
}
