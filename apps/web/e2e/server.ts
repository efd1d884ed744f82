import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ProxyOptions, preview } from "vite";

/** A Holdpoint server of one test's own, and where its console is. */
export interface TestServer {
  /** Where the console is served. */
  url: string;
  /** Where the API is asked by the test itself. */
  api: string;
  /** Ends it at once, as a power cut would. */
  kill: () => Promise<void>;
  /** Starts it again where it was, with what it had stored. Only for one that keeps a folder. */
  restart: () => Promise<void>;
  stop: () => Promise<void>;
}

interface Options {
  args?: readonly string[];
  env?: Record<string, string>;
  /** It keeps its data in a folder, and can be restarted. */
  isKept?: boolean;
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
export async function startServer({ args = [], env = {}, isKept = false }: Options = {}): Promise<TestServer> {
  const storage = isKept ? ["--data", mkdtempSync(join(tmpdir(), "holdpoint-e2e-data-"))] : ["--ephemeral"];
  const launch = (listen: string) =>
    spawn(binary(), ["serve", "--listen", listen, ...storage, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...inherited(), ...env },
    });
  let server = launch("127.0.0.1:0");
  const api = await addressOf(server);
  const kill = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => server.once("exit", () => resolve()));
    server.kill("SIGKILL");
    await ended;
  };
  const restart = async () => {
    await kill();
    server = launch(new URL(api).host);
    await addressOf(server);
  };
  if (process.env.HOLDPOINT_E2E_SERVE !== "preview") return { url: api, api, kill, restart, stop: kill };
  const toBackend: ProxyOptions = {
    target: api,
    changeOrigin: true,
    ws: true,
    headers: { origin: api },
    // A response that breaks off does so for the browser too; the proxy would leave it open for ever.
    configure: (proxy) =>
      void proxy.on("proxyRes", (incoming, _, outgoing) => {
        incoming.on("close", () => {
          if (!incoming.complete) outgoing.destroy();
        });
      }),
  };
  const policy = (await fetch(api)).headers.get("content-security-policy") ?? "";
  const console = await preview({
    root: `${root}apps/web`,
    logLevel: "silent",
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
    api,
    kill,
    restart,
    stop: async () => {
      await console.close();
      await kill();
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
