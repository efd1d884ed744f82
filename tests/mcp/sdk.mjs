// An MCP server made with the official SDK, which speaks protocol 2026-07-28 and the older ones. What it does is appended
// to the file in FAKE_LOG.
import { appendFileSync } from "node:fs";
import { createRequestStateCodec, inputRequired, inputResponse, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const note = (text) => appendFileSync(process.env.FAKE_LOG, `${text}\n`);
const text = (value) => ({ content: [{ type: "text", text: value }] });
note("start");
note(`pid ${process.pid}`);

// The same key in every process: a call outlives the one that it began in.
const codec = createRequestStateCodec({ key: "0123456789abcdef0123456789abcdef", bind: (ctx) => ctx.mcpReq.method });

serveStdio(({ era }) => {
  note(`era ${era}`);
  const server = new McpServer(
    { name: "sdk", version: "1" },
    { capabilities: { tools: { listChanged: true } }, requestState: { verify: codec.verify } },
  );
  const name = z.object({ name: z.string() });
  server.registerTool("ask", { description: "ask", inputSchema: z.object({}) }, async (_input, ctx) => {
    const { first, second } = { first: "Who are you?", second: "Who else?" };
    const answers = ctx.mcpReq.inputResponses;
    if (answers === undefined) {
      note("call ask");
      const ask = (message) => inputRequired.elicit({ message, requestedSchema: name });
      const requestState = await codec.mint({ from: "ask" }, ctx);
      return inputRequired({ inputRequests: { first: ask(first), second: ask(second) }, requestState });
    }
    note("effect ask");
    const { from } = ctx.mcpReq.requestState();
    const of = (key) => JSON.stringify(inputResponse(answers, key));
    return text(`${from} ${of("first")} ${of("second")}`);
  });
  server.registerTool("visit", { description: "visit", inputSchema: z.object({}) }, async (_input, ctx) => {
    const answers = ctx.mcpReq.inputResponses;
    if (answers === undefined) {
      const page = inputRequired.elicitUrl({ message: "Visit", url: "https://page.example/" });
      return inputRequired({ inputRequests: { page } });
    }
    return text(JSON.stringify(inputResponse(answers, "page")));
  });
  server.registerTool("more", { description: "more", inputSchema: z.object({}) }, async () => {
    server.registerTool("extra", { description: "extra", inputSchema: z.object({}) }, async () => text("extra"));
    return text("there is more now");
  });
  return server;
});
