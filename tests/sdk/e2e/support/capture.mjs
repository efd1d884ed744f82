// Keeps everything that a client received, as a transcript, and runs `holdpoint check` on it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { WebSocket } from "ws";
import { environment } from "../../../support/process.mjs";
import { binary } from "../../../support/server.mjs";

/** Rules about the end of a stream, which a stream cut off by the test can't satisfy. */
const AT_THE_END = new Set(["F2", "F5", "A1", "A2", "A4", "A5", "A6", "W4", "K5"]);

/** Everything that one browser tab received, in order. */
export class Capture {
  profile;
  /** Each entry: the lines of one HTTP exchange, or one WebSocket frame. */
  #entries = [];
  /** Functions that break the open streams. */
  #open = new Set();

  constructor(profile = "ai-sdk") {
    this.profile = profile;
  }

  /** Like the global `fetch`, but keeps the responses of a chat's endpoints. */
  fetch = async (input, init = {}) => {
    const { pathname } = new URL(input);
    const method = init.method ?? "GET";
    const isTurn = method === "POST" && (pathname === "/api/chat" || pathname === "/stream");
    const isRead = method === "GET" && /^\/api\/chat\/[^/]+\/(stream|messages)$/.test(pathname);
    if (!isTurn && !isRead) return fetch(input, init);

    const body = typeof init.body === "string" ? JSON.parse(init.body) : undefined;
    const request = { method, url: pathname, headers: Object.fromEntries(new Headers(init.headers)), body };
    const chat = body?.id ?? decodeURIComponent(pathname.split("/")[3] ?? "");
    const entry = { chat, lines: [{ request }], isCut: true };
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
    return new Response(response.body.pipeThrough(recorder(entry, this.#open)), { status, headers });
  };

  /** The network fails. */
  disconnect() {
    for (const end of this.#open) end();
    this.#open.clear();
  }

  /** A WebSocket class that keeps its frames. A connection dropped by the test takes its open requests with it. */
  webSocket() {
    const entries = this.#entries;
    const open = this.#open;
    // One connection can carry many chats.
    const chats = new Map();
    const keep = (line, { id, requestId } = {}) => {
      if (id !== undefined) chats.set(requestId, id);
      entries.push({ chat: chats.get(requestId), lines: [line], isCut: false, requestId });
    };
    return class extends WebSocket {
      constructor(url, protocols) {
        super(url, protocols);
        this.on("message", (data) => {
          const frame = parsed(String(data));
          keep({ frame }, { requestId: frame?.requestId });
        });
        this.on("close", () => cutOpen(entries));
        open.add(() => this.terminate());
        // The SDK uses `onerror`; without a listener of this kind Node would exit.
        this.on("error", () => {});
      }

      send(data, ...rest) {
        const request = parsed(String(data));
        // After an abort the response must still end in order; the checker, if it knew of the abort, would not require
        // that.
        if (request?.type !== "abort") keep({ request }, request);
        super.send(data, ...rest);
      }
    };
  }

  get lines() {
    return this.#entries.flatMap(({ lines }) => lines);
  }

  /** Every chunk received, in order. */
  get chunks() {
    const sse = (text) => [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json));
    return this.#entries.flatMap(({ lines }) => {
      const frames = lines.filter((line) => "frame" in line).map(({ frame }) => frame);
      if (frames.every((frame) => typeof frame === "string")) return sse(frames.join(""));
      return frames.flatMap((frame) => (frame.type === "chunk" ? [frame.chunk] : []));
    });
  }

  /** Fails on any violation. `allow` names rules that the flow violates on purpose (a refused request violates F1). */
  async check({ allow = [] } = {}) {
    // The checker expects one chat per transcript.
    for (const chat of new Set(this.#entries.map((entry) => entry.chat))) {
      const entries = this.#entries.filter((entry) => entry.chat === chat);
      const lines = entries.flatMap((entry) => entry.lines);
      const isOfCut = partOfCut(entries);
      const violations = (await judge(this.profile, lines)).filter(
        (violation) => !allow.includes(violation.rule) && !isOfCut(violation),
      );
      if (violations.length === 0) continue;
      const told = violations.map(({ line, rule, text }) => `${line} ${rule} ${text}`).join("\n");
      const shown = lines.map((line, at) => `${at + 1} ${JSON.stringify(line).slice(0, 600)}`).join("\n");
      assert.fail(`the checker found:\n${told}\nin:\n${shown}`);
    }
  }
}

/** Whether a violation only concerns the missing end of a stream that the test cut off. */
function partOfCut(entries) {
  const numbers = new Set();
  const requests = [];
  let number = 0;
  for (const { lines, isCut, requestId } of entries) {
    for (const _ of lines) {
      number += 1;
      if (isCut) numbers.add(number);
    }
    if (isCut && requestId !== undefined) requests.push(requestId);
  }
  return ({ line, rule, text }) =>
    (AT_THE_END.has(rule) && numbers.has(line)) || (rule === "W4" && requests.some((id) => text.includes(`"${id}"`)));
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Passes an SSE body through, and keeps it. One without an end was cut off. */
function recorder(entry, open) {
  const decoder = new TextDecoder();
  return new TransformStream({
    start(controller) {
      // Chromium's wording. The SDK recognizes a lost connection only by its message.
      open.add(() => controller.error(new TypeError("network error")));
    },
    transform(bytes, controller) {
      entry.lines.push({ frame: decoder.decode(bytes, { stream: true }) });
      controller.enqueue(bytes);
    },
    flush() {
      entry.isCut = false;
    },
  });
}

/**
 * Marks the entries of requests that have not ended; on `/live`, whose frames are SSE records, of a turn that has not
 * ended.
 */
function cutOpen(entries) {
  const records = entries.filter(({ lines: [line] }) => typeof line.frame === "string");
  const lastEnd = records.findLastIndex(({ lines: [line] }) => line.frame.includes("[DONE]"));
  for (const entry of records.slice(lastEnd + 1)) entry.isCut = true;

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
