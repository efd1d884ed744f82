// Several nodes on one database behind a load balancer, in the place of the one server of a suite. See README.md.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { Postgres } from "../crash/nodes/postgres.mjs";
import { Front } from "./front.mjs";

const LEASE_SEC = 2;
const READY_WITHIN_MS = 30_000;
const ENDS_WITHIN_MS = 15_000;

/** The number of nodes that the run asks for; 0 if it has one server without a shared database. */
export const nodesWanted = () => Number(process.env.TEST_NODES ?? 0);

/** One PostgreSQL for this process. It ends with the process. */
let postgres;
async function database() {
  postgres ??= Postgres.start();
  const server = await postgres;
  server.unref();
  const name = `nodes_${randomUUID().replaceAll("-", "")}`;
  await server.sql(`CREATE DATABASE ${name}`);
  return { url: server.url(undefined, name), drop: () => server.sql(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

/** Starts `binary` with these arguments, without a place for its chats, `count` times. */
export async function startNodes({ binary, count = nodesWanted(), args = [], env = {} }) {
  const log = await database();
  const settings = { HOLDPOINT_LEASE_SEC: String(LEASE_SEC), ...env };
  const launch = (listen) => Node.start(binary, ["serve", "--listen", listen, "--log", log.url, ...args], settings);
  let nodes = await Promise.all(Array.from({ length: count }, () => launch("127.0.0.1:0")));
  const urls = nodes.map(({ url }) => url);
  const front = await Front.open(urls, { route: process.env.TEST_ROUTE });
  const end = async (signal) => {
    await Promise.all(nodes.map((node) => node.end(signal)));
  };
  return {
    url: front.url,
    /** The nodes' own addresses. */
    urls,
    front,
    end,
    async restart(signal) {
      await end(signal);
      nodes = await Promise.all(urls.map((url) => launch(new URL(url).host)));
    },
    async stop(signal) {
      await end(signal);
      await front.close();
      await log.drop();
    },
  };
}

class Node {
  url;
  #child;
  #exited;
  #said = "";

  static async start(binary, args, settings) {
    const node = new Node();
    node.#child = spawn(binary, args, { env: { ...environment(), ...settings }, stdio: ["ignore", "pipe", "pipe"] });
    // Whatever happens to the tests, no node is left behind.
    const kill = () => node.#child.kill("SIGKILL");
    process.once("exit", kill);
    node.#exited = new Promise((resolve) => {
      node.#child.once("error", (error) => resolve(error.message));
      node.#child.once("exit", (code, signal) => {
        process.removeListener("exit", kill);
        resolve(code ?? signal);
      });
    });
    for (const stream of [node.#child.stdout, node.#child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        node.#said += text;
      });
    }
    await node.#ready();
    return node;
  }

  /** It prints its address, and then says that it is ready. */
  async #ready() {
    let exit;
    this.#exited.then((code) => {
      exit = code;
    });
    const deadline = Date.now() + READY_WITHIN_MS;
    for (;;) {
      this.url ??= this.#said.match(/https?:\/\/[\d.]+:\d+(?=\s)/)?.[0];
      if (this.url && (await fetch(`${this.url}/ready`).catch(() => undefined))?.ok) return;
      if (exit !== undefined || Date.now() > deadline) {
        this.#child.kill("SIGKILL");
        throw new Error(`the node did not start (${exit ?? "it took too long"})\n${this.#said}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Ends it, if it has not ended. A node that is asked to end does so in order. */
  async end(signal) {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill(signal);
    let timer;
    const late = new Promise((resolve) => {
      timer = setTimeout(() => resolve("late"), ENDS_WITHIN_MS);
    });
    const code = await Promise.race([this.#exited, late]);
    clearTimeout(timer);
    if (code === "late") this.#child.kill("SIGKILL");
    if (signal === "SIGTERM" && code !== 0) throw new Error(`the node ended with ${code}\n${this.#said}`);
  }
}

/** Without variables that the server would read as settings, such as HOLDPOINT_BIN. */
const environment = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("HOLDPOINT_")));
