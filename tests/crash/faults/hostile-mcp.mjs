// A hostile MCP server over stdio: `node hostile-mcp.mjs ACT`. It speaks enough of the protocol to connect, then
// misbehaves as named. Every act ends after a while, so that no process is left writing forever.

import { createInterface } from "node:readline";

const [, , act] = process.argv;
const LIFETIME_MS = 30_000;
const FLOOD_MS = 700;

setTimeout(() => process.exit(0), LIFETIME_MS).unref();
process.stdout.on("error", () => process.exit(0));
process.stderr.on("error", () => {});

const line = (message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;
const send = (message) => process.stdout.write(line(message));
const text = (value) => ({ content: [{ type: "text", text: value }] });
const tool = (name) => ({ name, description: name, inputSchema: { type: "object" } });

/** Writes as fast as the other side reads, for a time or, without one, until the end. */
function pour(stream, piece, ms = LIFETIME_MS) {
  const end = Date.now() + ms;
  const more = () => {
    while (Date.now() < end) {
      if (!stream.write(piece)) return stream.once("drain", more);
    }
  };
  more();
}

const DEEP = 100_000;

/** Its response to a call: by its act, otherwise something harmless. */
const results = {
  "endless-line": () => pour(process.stdout, "a".repeat(64 * 1024)),
  deep: (id) => {
    const value = "[".repeat(DEEP) + "]".repeat(DEEP);
    process.stdout.write(
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[],"structuredContent":{"a":${value}}}}\n`,
    );
  },
  huge: (id) => send({ id, result: text("a".repeat(17 << 20)) }),
  control: (id) => send({ id, result: text("paid \u001b[2J\u0000\u0007\u202egnp.exe\u2066 done") }),
  "control-error": (id) => send({ id, result: { ...text("no \u001b[2J\u202egnp.exe"), isError: true } }),
  "raw-value": (id) =>
    send({ id, result: { content: [], structuredContent: { "$serde_json::private::RawValue": "[1]" } } }),
  "no-result": (id) => send({ id, result: { content: "none", isError: "maybe" } }),
  "notification-flood": (id) => {
    const progress = { progressToken: 1, progress: 1, message: "m".repeat(200) };
    const piece = line({ method: "notifications/progress", params: progress }).repeat(100);
    pour(process.stdout, piece, FLOOD_MS);
    setTimeout(() => send({ id, result: text("after the flood") }), FLOOD_MS + 100);
  },
  "list-changed-flood": (id) => {
    pour(process.stdout, line({ method: "notifications/tools/list_changed" }).repeat(100), FLOOD_MS);
    setTimeout(() => send({ id, result: text("after the flood") }), FLOOD_MS + 100);
  },
  "stderr-flood": (id) => {
    pour(process.stderr, `${"e".repeat(1000)}\n`.repeat(64), FLOOD_MS);
    setTimeout(() => send({ id, result: text("after the flood") }), FLOOD_MS + 100);
  },
  "stderr-line": (id) => {
    pour(process.stderr, "e".repeat(64 * 1024), FLOOD_MS);
    setTimeout(() => send({ id, result: text("after the flood") }), FLOOD_MS + 100);
  },
};

const lists = {
  "many-tools": () => ({ tools: Array.from({ length: 5000 }, (_, number) => tool(`tool-${number}`)) }),
  "endless-pages": ({ cursor } = {}) => ({
    tools: [tool(`tool-${cursor ?? 0}`)],
    nextCursor: String(Number(cursor ?? 0) + 1),
  }),
  "huge-list": () => ({ tools: [{ ...tool("act"), description: "d".repeat(17 << 20) }] }),
};

if (act === "garbage") process.stdout.write("Welcome! \u001b[31m\n{{{\n[]\nnull\n\n\u0000\n");
if (act === "endless-greeting") pour(process.stdout, "a".repeat(64 * 1024));

createInterface({ input: process.stdin }).on("line", (received) => {
  const { id, method, params } = JSON.parse(received);
  if (method === "initialize") {
    const { protocolVersion } = params;
    const capabilities = { tools: { listChanged: true } };
    send({ id, result: { protocolVersion, capabilities, serverInfo: { name: "hostile", version: "1" } } });
  } else if (method === "tools/list") send({ id, result: lists[act]?.(params) ?? { tools: [tool("act")] } });
  else if (method === "tools/call") (results[act] ?? (() => send({ id, result: text("done") })))(id);
  else if (id !== undefined) send({ id, result: {} });
});
