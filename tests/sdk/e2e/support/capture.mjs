// Keeps everything that a client was sent, as a transcript, and has it judged by `holdpoint check`.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { WebSocket } from "ws";
import { binary, environment } from "./server.mjs";

/** What a stream that the test itself cut off can't have: its end, and what is judged there. */
const AT_THE_END = new Set(["F2", "F5", "A1", "A2", "A4", "A5", "A6", "W4"]);

/** What one browser tab saw, in order. */
export class Capture {
  profile;
  /** Each: the lines of one HTTP exchange, or one WebSocket frame. */
  #entries = [];

  constructor(profile = "ai-sdk") {
    this.profile = profile;
  }

  /** As the global one, and keeps what the endpoints of a chat answer. */
  fetch = async (input, init = {}) => {
    const { pathname } = new URL(input);
    const method = init.method ?? "GET";
    const isTurn = method === "POST" && (pathname === "/api/chat" || pathname === "/stream");
    const isRead = method === "GET" && /^\/api\/chat\/[^/]+\/(stream|messages)$/.test(pathname);
    if (!isTurn && !isRead) return fetch(input, init);

    const body = typeof init.body === "string" ? JSON.parse(init.body) : undefined;
    const request = { method, url: pathname, headers: Object.fromEntries(new Headers(init.headers)), body };
    const entry = { lines: [{ request }], isCut: true };
    this.#entries.push(entry);

    const response = await fetch(input, init);
    entry.lines.push({ status: response.status });
    if (response.body === null || !response.ok) {
      entry.isCut = false;
      return response;
    }
    if (pathname.endsWith("/messages")) {
      const messages = await response.json();
      entry.lines.push({ frame: messages });
      entry.isCut = false;
      return Response.json(messages);
    }
    const { status, headers } = response;
    return new Response(response.body.pipeThrough(recorder(entry)), { status, headers });
  };

  /** A WebSocket class whose frames are kept. A connection that the test drops takes its open requests with it. */
  webSocket() {
    const entries = this.#entries;
    const keep = (line, requestId) => entries.push({ lines: [line], isCut: false, requestId });
    return class extends WebSocket {
      constructor(url, protocols) {
        super(url, protocols);
        this.on("message", (data) => {
          const frame = parsed(String(data));
          keep({ frame }, frame?.requestId);
        });
        this.on("close", () => cutOpen(entries));
        // The SDK looks at `onerror`; without a listener of this kind Node would end the process.
        this.on("error", () => {});
      }

      send(data, ...rest) {
        const request = parsed(String(data));
        keep({ request }, request?.requestId);
        super.send(data, ...rest);
      }
    };
  }

  get lines() {
    return this.#entries.flatMap(({ lines }) => lines);
  }

  /** Every chunk that came, in order. */
  get chunks() {
    const sse = (text) => [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json));
    return this.#entries.flatMap(({ lines }) => {
      const frames = lines.filter((line) => "frame" in line).map(({ frame }) => frame);
      if (frames.every((frame) => typeof frame === "string")) return sse(frames.join(""));
      return frames.flatMap((frame) => (frame.type === "chunk" ? [frame.chunk] : []));
    });
  }

  /** Fails on any violation. `allow` names rules that the flow breaks on purpose (a refused request breaks F1). */
  async check({ allow = [] } = {}) {
    if (this.#entries.length === 0) return;
    const { lines, requests } = this.#cut();
    const isOfCut = ({ line, rule, text }) =>
      (AT_THE_END.has(rule) && lines.has(line)) || (rule === "W4" && requests.some((id) => text.includes(`"${id}"`)));
    const violations = (await judge(this.profile, this.lines)).filter(
      (violation) => !allow.includes(violation.rule) && !isOfCut(violation),
    );
    if (violations.length === 0) return;
    const told = violations.map(({ line, rule, text }) => `${line} ${rule} ${text}`).join("\n");
    const shown = this.lines.map((line, at) => `${at + 1} ${JSON.stringify(line).slice(0, 600)}`).join("\n");
    assert.fail(`the checker found:\n${told}\nin:\n${shown}`);
  }

  /** Which lines, and which requests of a WebSocket, belong to what was cut off. */
  #cut() {
    const cut = { lines: new Set(), requests: [] };
    let number = 0;
    for (const { lines, isCut, requestId } of this.#entries) {
      for (const _ of lines) {
        number += 1;
        if (isCut) cut.lines.add(number);
      }
      if (isCut && requestId !== undefined) cut.requests.push(requestId);
    }
    return cut;
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Passes an SSE body on, and keeps it. One that does not come to its end was cut off. */
function recorder(entry) {
  const decoder = new TextDecoder();
  return new TransformStream({
    transform(bytes, controller) {
      entry.lines.push({ frame: decoder.decode(bytes, { stream: true }) });
      controller.enqueue(bytes);
    },
    flush() {
      entry.isCut = false;
    },
  });
}

/** Marks what belongs to requests that have no end yet. */
function cutOpen(entries) {
  const ends = entries.filter(({ lines: [line] }) => ["end", "error", "no-active"].includes(line.frame?.type));
  const ended = new Set(ends.map(({ requestId }) => requestId));
  for (const entry of entries) {
    if (entry.requestId !== undefined && !ended.has(entry.requestId)) entry.isCut = true;
  }
}

function judge(profile, lines) {
  return new Promise((resolve, reject) => {
    const child = spawn(binary(), ["check", "--profile", profile, "--json", "-"], {
      env: environment(),
      stdio: ["pipe", "pipe", "inherit"],
    });
    let out = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      out += text;
    });
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0 || code === 1) resolve(JSON.parse(out || "[]"));
      else reject(new Error(`holdpoint check could not read the transcript (${code})\n${out}`));
    });
    child.stdin.end(`${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
  });
}
