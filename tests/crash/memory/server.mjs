// The server with its default limits, as a process whose memory is watched.

import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { started } from "../../support/server.mjs";
import { Postgres } from "../nodes/postgres.mjs";
import { drawing, fileTurns } from "./files.mjs";

/** What the server may take, whatever one client does, and how long others may wait. */
export const MOST_BYTES = 400e6;
export const MOST_WAIT_MS = 200;
/** An attack ends here, so that it does not take the machine. */
const STOP_BYTES = 1e9;
/** An attack that is played to its end takes less. */
const WHOLE_SECONDS = 600;

const key = (who, roles = []) => `[[auth.keys]]
key_sha256 = "${createHash("sha256").update(`key-of-${who}`).digest("hex")}"
subject = "${who}"
roles = ${JSON.stringify(roles)}
`;

/** Everything that the attacks ask for: calls with large inputs, large texts that never end. */
const script = () => {
  const call = (input) => ({ toolCall: { name: "deploy", input } });
  const text = Array.from({ length: 192 }, () => "x".repeat(16 * 1024));
  return {
    turns: [
      {
        when: "large",
        steps: [Array.from({ length: 12 }, () => call({ what: "x".repeat(900_000) })), [{ text: ["ok"] }]],
      },
      {
        when: "look",
        steps: [Array.from({ length: 60 }, () => ({ toolCall: { name: "look", input: {} } })), [{ text: ["ok"] }]],
      },
      ...fileTurns(),
      { when: "small", steps: [[call({ what: "x" })], [{ text: ["ok"] }]] },
      { when: "wait", steps: [[{ text }, { waitMs: 600_000 }, { text: ["late"] }]] },
      { when: "long", steps: [[{ text }]] },
      { when: "", steps: [[{ text: ["ok"] }]] },
    ],
  };
};

const settings = (files) => `${key("ann")}${key("bob")}${key("carol", ["approver"])}${key("dan")}
[tools.deploy]
execution = "server"
description = "Deploys"
url = "http://127.0.0.1:9/"
allow_private = true
approval = "always"
input_schema = { type = "object" }

[tools.look]
execution = "frontend"
description = "Looks"
approval = "never"
timeout_sec = 600
input_schema = { type = "object" }

[tools.draw]
execution = "server"
description = "Draws"
url = "http://127.0.0.1:${files.address().port}/"
allow_private = true
approval = "never"
max_response_bytes = 5242880
input_schema = { type = "object" }
`;

export class Server {
  #running;
  #folder;
  #database;
  #files;
  #sockets = new Set();

  /** `engine`: where the chats are, `sqlite` or `postgres`. `more`: settings that differ from the default. */
  static async start(engine, more = "") {
    const server = new Server();
    if (engine === "postgres") server.#database = await Postgres.start();
    server.#folder = await mkdtemp(join(tmpdir(), "holdpoint-memory-"));
    const file = (name) => join(server.#folder, name);
    server.#files = await drawing();
    await writeFile(file("holdpoint.toml"), `${more}${settings(server.#files)}`);
    await writeFile(file("script.json"), JSON.stringify(script()));
    const place = server.#database ? ["--log", server.#database.url()] : ["--data", file("data")];
    const args = [...place, "--config", file("holdpoint.toml"), "--model", `script:${file("script.json")}`];
    const { running, url } = await started(args);
    server.#running = running;
    const { hostname, port } = new URL(url);
    [server.host, server.port] = [hostname, port];
    return server;
  }

  async stop() {
    for (const socket of this.#sockets) socket.destroy();
    await this.#running.kill();
    await this.#database?.stop();
    this.#files.closeAllConnections();
    this.#files.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Its memory in use (RSS). */
  async bytes() {
    const status = await readFile(`/proc/${this.#running.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)[1]) * 1024;
  }

  async fetch(who, path, init = {}, more = {}) {
    const headers = { authorization: `Bearer key-of-${who}`, "content-type": "application/json", ...more };
    return await fetch(`http://${this.host}:${this.port}${path}`, { headers, ...init });
  }

  async say(who, chat, text) {
    const body = JSON.stringify({ id: chat, messages: [{ role: "user", content: text }] });
    return await this.fetch(who, "/api/chat", { method: "POST", body });
  }

  /** A connection that reads nothing unless it is told to. */
  connect() {
    const socket = connect(Number(this.port), this.host);
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => this.#sockets.delete(socket));
    socket.pause();
    return socket;
  }

  /** Requests whose responses nobody reads. */
  unread(who, path, count) {
    for (let at = 0; at < count; at++) {
      this.connect().write(`GET ${path} HTTP/1.1\r\nhost: h\r\nauthorization: Bearer key-of-${who}\r\n\r\n`);
    }
  }

  /** Ends all connections of the attack before, and waits until the server has noticed. */
  async quiet() {
    for (const socket of this.#sockets) socket.destroy();
    await sleep(1500);
  }

  /**
   * Plays an attack for a time, or to its end if it is to be whole. Returns the most memory, and the longest that somebody
   * else waited.
   */
  async under(attack, seconds, { isWhole = false } = {}) {
    const until = Date.now() + (isWhole ? WHOLE_SECONDS : seconds) * 1000;
    let hasEnded = false;
    const isOver = () => Date.now() > until || most.bytes > STOP_BYTES || (isWhole && hasEnded);
    const most = { bytes: 0, waitMs: 0 };
    const attacking = attack(this, isOver).finally(() => {
      hasEnded = true;
    });
    // It is told when it is waited for.
    attacking.catch(() => {});
    while (!isOver()) {
      const begun = performance.now();
      const response = await this.fetch("bob", "/api/me");
      await response.arrayBuffer();
      if (response.status !== 200) throw new Error(`others get ${response.status}`);
      most.waitMs = Math.max(most.waitMs, performance.now() - begun);
      most.bytes = Math.max(most.bytes, await this.bytes());
      await sleep(20);
    }
    await attacking;
    await this.quiet();
    return most;
  }
}
