import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ProxyOptions, preview } from "vite";
import { nodesWanted, startNodes } from "../../../tests/nodes/nodes.mjs";
import { started } from "../../../tests/support/server.mjs";

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
  const nodes = await startNodes({ count, args, env });
  return {
    api: nodes.url,
    kill: () => nodes.end("SIGKILL"),
    restart: () => nodes.restart("SIGKILL"),
    stop: () => nodes.stop("SIGKILL"),
  };
}

async function startProcess({ args = [], env = {}, isKept = false }: Options): Promise<Running> {
  const storage = isKept ? ["--data", mkdtempSync(join(tmpdir(), "holdpoint-e2e-data-"))] : ["--ephemeral"];
  let { running, url: api } = await started([...storage, ...args], { env });
  const kill = () => running.kill();
  const restart = async () => {
    await kill();
    ({ running, url: api } = await started([...storage, ...args], { env, listen: new URL(api).host }));
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
