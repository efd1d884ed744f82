import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ProxyOptions, preview } from "vite";
import { nodesWanted, startNodes } from "../../../tests/nodes/nodes.mjs";

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
  /** The number of nodes on a PostgreSQL, instead of one server with a log of its own. */
  nodes?: number;
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

/** One process, or all nodes behind their load balancer. */
type Running = Omit<TestServer, "url">;

/** Starts the binary on a free port. With `HOLDPOINT_E2E_SERVE=preview` the console is served from `dist` instead. */
export async function startServer(options: Options = {}): Promise<TestServer> {
  const { nodes = nodesWanted() } = options;
  const running = nodes > 0 ? await startCluster(nodes, options) : await startProcess(options);
  if (process.env.HOLDPOINT_E2E_SERVE !== "preview") return { ...running, url: running.api };
  const { url, close } = await startPreview(running.api);
  return {
    ...running,
    url,
    stop: async () => {
      await close();
      await running.stop();
    },
  };
}

async function startCluster(count: number, { args, env }: Options): Promise<Running> {
  const nodes = await startNodes({ binary: binary(), count, args, env });
  return {
    api: nodes.url,
    kill: () => nodes.end("SIGKILL"),
    restart: () => nodes.restart("SIGKILL"),
    stop: () => nodes.stop("SIGKILL"),
  };
}

async function startProcess({ args = [], env = {}, isKept = false }: Options): Promise<Running> {
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
  return { api, kill, restart, stop: kill };
}

/** The built console of the source tree, in front of a server's API. */
async function startPreview(api: string): Promise<{ url: string; close: () => Promise<void> }> {
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
      proxy: { "/api": toBackend, "/stream": toBackend, "/live": toBackend, "/health": toBackend },
    },
  });
  const address = console.httpServer.address();
  if (address === null || typeof address === "string") throw new Error("The preview server has no port.");
  return { url: `http://127.0.0.1:${address.port}`, close: () => console.close() };
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
