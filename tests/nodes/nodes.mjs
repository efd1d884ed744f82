// Several nodes on one database behind a load balancer, in the place of the one server of a suite. See README.md.

import { randomUUID } from "node:crypto";
import { Postgres } from "../crash/nodes/postgres.mjs";
import { started } from "../support/server.mjs";
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

/** Starts servers with these arguments, without a place for their chats, `count` times. */
export async function startNodes({ count = nodesWanted(), args = [], env = {} }) {
  const log = await database();
  const settings = { HOLDPOINT_LEASE_SEC: String(LEASE_SEC), ...env };
  const launch = (listen) => Node.start(["--log", log.url, ...args], { listen, env: settings });
  let nodes = await Promise.all(Array.from({ length: count }, () => launch()));
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
  #running;

  static async start(args, options) {
    const node = new Node();
    ({ running: node.#running, url: node.url } = await started(args, options));
    await node.#ready();
    return node;
  }

  /** It has printed its address, and then says that it is ready. */
  async #ready() {
    const deadline = Date.now() + READY_WITHIN_MS;
    while (!(await fetch(`${this.url}/ready`).catch(() => undefined))?.ok) {
      if (!this.#running.isUp || Date.now() > deadline) {
        await this.#running.kill();
        throw new Error(`the node did not get ready\n${this.#running.output}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Ends it, if it has not ended. A node that is asked to end does so in order. */
  async end(signal) {
    if (this.#running.isUp) await this.#running.end(signal, ENDS_WITHIN_MS);
  }
}
