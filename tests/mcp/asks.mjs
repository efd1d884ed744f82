// An MCP server made with the official SDK, whose tool asks the user in the way of protocols before 2026-07-28: by a request of
// its own. The SDK speaks the newer protocol all the same, where the tool then fails.
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

serveStdio(() => {
  const server = new McpServer({ name: "asks", version: "1" }, { capabilities: { tools: {} } });
  server.registerTool("ask", { description: "ask", inputSchema: z.object({}) }, async (_input, ctx) => {
    const requestedSchema = { type: "object", properties: { name: { type: "string" } } };
    const { action } = await ctx.mcpReq.elicitInput({ mode: "form", message: "Who are you?", requestedSchema });
    return { content: [{ type: "text", text: `the user's answer: ${action}` }] };
  });
  return server;
});
