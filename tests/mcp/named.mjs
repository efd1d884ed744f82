// The MCP servers that the guides name, with the tools that the guides expect of them: `node named.mjs bank` speaks
// JSON-RPC over stdio, `node named.mjs tickets http` over HTTP, and prints its port. What is called is appended to the
// file in NAMED_LOG.
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const tool = (name, properties, annotations) => {
  const inputSchema = { type: "object", properties, required: Object.keys(properties) };
  return { name, description: name, inputSchema, annotations };
};
const servers = {
  bank: [tool("transfer", { amount: { type: "number" }, to: { type: "string" } })],
  scratch: [tool("clear", {}, { destructiveHint: true })],
  tickets: [tool("create", { title: { type: "string" }, priority: { type: "string" } })],
};
const [name, transport = "stdio"] = process.argv.slice(2);

const answer = ({ method, params }) => {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name, version: "1" },
      };
    case "tools/list":
      return { tools: servers[name] };
    case "tools/call": {
      const called = `${params.name} ${JSON.stringify(params.arguments)}`;
      if (process.env.NAMED_LOG) appendFileSync(process.env.NAMED_LOG, `${called}\n`);
      const key = process.env.SCRATCH_KEY === undefined ? "without a key" : "with a key";
      return { content: [{ type: "text", text: `done: ${called} ${key}` }] };
    }
    default:
      return {};
  }
};

if (transport === "http") {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    if (request.headers.authorization !== `Bearer ${process.env.TOKEN}`) return response.writeHead(401).end();
    if (request.method !== "POST") return response.writeHead(405).end();
    const message = JSON.parse(body);
    if (message.id === undefined) return response.writeHead(202).end();
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: answer(message) }));
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
} else {
  createInterface({ input: process.stdin }).on("line", (line) => {
    const message = JSON.parse(line);
    if (message.id === undefined) return;
    process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: message.id, result: answer(message) })}\n`);
  });
}
