// A small MCP server that misbehaves on purpose: it dies, is slow, changes its tools, repeats a secret. It speaks
// JSON-RPC over stdio, one message per line. What it receives is appended to the file in FAKE_LOG.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const log = process.env.FAKE_LOG;
const note = (text) => log && appendFileSync(log, `${text}\n`);
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const text = (value) => ({ content: [{ type: "text", text: value }] });

const tool = (name, annotations, inputSchema = { type: "object" }) => ({
  name,
  description: name,
  inputSchema,
  annotations,
});
// Entries that are not what the protocol says.
const odd = [
  { name: "bare" },
  { name: "hinted", inputSchema: { type: "object" }, annotations: { readOnlyHint: "yes" } },
  { inputSchema: { type: "object" } },
];
const tools = [
  ...(process.env.FAKE_ODD ? odd : []),
  tool(
    "echo",
    { readOnlyHint: true },
    { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  ),
  tool("die"),
  tool("slow"),
  tool("more"),
  tool("wipe", { destructiveHint: true }),
  tool("leak"),
  tool("environment"),
  tool("ask"),
  tool("ask.twice"),
  tool("picture"),
  tool("steps"),
  // One more, of any name.
  ...(process.env.FAKE_TOOL ? [tool(process.env.FAKE_TOOL)] : []),
];

// A server that is unhealthy for a while: it refuses to start until it was tried this often.
const starts =
  log && existsSync(log)
    ? readFileSync(log, "utf8")
        .split("\n")
        .filter((line) => line === "start").length
    : 0;
note("start");
note(`pid ${process.pid}`);
if (process.env.FAKE_STAYS) {
  // Ignores the end of its input.
  setInterval(() => {}, 1000);
}
if (starts < Number(process.env.FAKE_FAILS ?? 0)) {
  process.exit(1);
}

// What it says about its tools. With FAKE_SAYS_MORE, something else after each start.
const instructions = () =>
  process.env.FAKE_SAYS && `${process.env.FAKE_SAYS}${process.env.FAKE_SAYS_MORE ? starts : ""}`;

const asked = new Map();
let questions = 0;
const question = (call, left, given) => {
  const id = `question-${++questions}`;
  asked.set(id, { call, left, given });
  const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
  send({ id, method: "elicitation/create", params: { message: "Who are you?", requestedSchema } });
};

const call = (id, { name, arguments: input, _meta: meta }) => {
  switch (name) {
    case "echo":
      return send({ id, result: text(input.text) });
    case "die":
      return process.exit(1);
    case "slow":
      return;
    case "more":
      tools.push(tool("extra"));
      send({ method: "notifications/tools/list_changed" });
      return send({ id, result: text("there is more now") });
    case "leak":
      console.error(`the token is ${process.env.TOKEN}`);
      return send({ id, result: { ...text(`the token ${process.env.TOKEN} is wrong`), isError: true } });
    case "environment":
      return send({ id, result: { content: [], structuredContent: { names: Object.keys(process.env) } } });
    case "ask":
      return question(id, 0, []);
    case "ask.twice":
      return question(id, 1, []);
    case "steps":
      for (const progress of [1, 2]) {
        const params = { progressToken: meta.progressToken, progress, total: 2, message: `step ${progress}` };
        send({ method: "notifications/progress", params });
      }
      send({ method: "notifications/progress", params: { progressToken: "nobody's", progress: 9 } });
      return setTimeout(() => send({ id, result: text("done") }), 100);
    case "picture": {
      const image = { type: "image", mimeType: "image/png", data: Buffer.alloc(600_000).toString("base64") };
      return send({ id, result: { content: [{ type: "text", text: "a picture" }, image] } });
    }
    case "extra":
      return send({ id, result: text("extra") });
    case "odd":
      // Not the result of a call.
      return send({ id, result: { content: 5 } });
    default:
      return send({ id, error: { code: -32602, message: `no tool ${name}` } });
  }
};

const lines = createInterface({ input: process.stdin });
lines.on("close", () => note("end"));
lines.on("line", (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (method === undefined) {
    const { call: of, left, given } = asked.get(id);
    given.push(result);
    return left > 0 ? question(of, left - 1, given) : send({ id: of, result: text(JSON.stringify(given)) });
  }
  switch (method) {
    case "initialize":
      return send({
        id,
        result: {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: "fake", version: "1" },
          instructions: instructions(),
        },
      });
    case "tools/list":
      return send({ id, result: { tools } });
    case "tools/call":
      note(`call ${params.name}`);
      return call(id, params);
    case "notifications/cancelled":
      return note(`cancelled ${params.reason}`);
    case "ping":
      return send({ id, result: {} });
    default:
      if (id === undefined) {
        return;
      }
      // Servers react to a request that they do not know in all ways.
      switch (process.env.FAKE_UNKNOWN) {
        case "ends":
          return process.exit(1);
        case "nonsense":
          return send({ id, result: {} });
        case "silence":
          return;
        default:
          return send({ id, error: { code: -32601, message: `no method ${method}` } });
      }
  }
});
