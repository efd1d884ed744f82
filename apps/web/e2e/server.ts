import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ProxyOptions, preview } from "vite";

/** A Holdpoint server for one test, and the address of its console. */
export interface TestServer {
  /** The address of the console. */
  url: string;
  /** The address of the API, for the test's own requests. */
  api: string;
  /** Kills it at once, like a power cut. */
  kill: () => Promise<void>;
  /** Restarts it at the same address with its stored data. Requires `isKept`. */
  restart: () => Promise<void>;
  stop: () => Promise<void>;
}

interface Options {
  args?: readonly string[];
  env?: Record<string, string>;
  /** Keeps its data in a folder, so that it can be restarted. */
  isKept?: boolean;
}

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** The binary under test: the configured one, or the newest build. */
export function binary(): string {
  const named = process.env.HOLDPOINT_BIN;
  const candidates = named ? [named] : [`${root}target/release/holdpoint`, `${root}target/debug/holdpoint`];
  const found = candidates.find((path) => existsSync(path));
  if (found === undefined)
    throw new Error(`No holdpoint binary at ${candidates.join(" or ")}: build it, or set HOLDPOINT_BIN.`);
  return found;
}

/** Starts the binary on a free port. With `HOLDPOINT_E2E_SERVE=preview` the console is served from `dist` instead. */
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
    // If a response breaks off, break it off for the browser too: the proxy would leave it open forever.
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
      // Use the binary's CSP here too, so that the page does not depend on anything it forbids.
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

/** The server reads every `HOLDPOINT_…` variable as a setting, and would refuse those of the tests. */
function inherited(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("HOLDPOINT_")));
}

/** `serve` prints its address once it is ready. */
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
