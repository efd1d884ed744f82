# An MCP server made with the official Python SDK, over HTTP, whose tool asks the user in the way of protocols before 2026-07-28:
# by a request of its own. The SDK speaks the newer protocol all the same, where the tool then fails. It prints its port.
import socket

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("asks")


class Answer(BaseModel):
    name: str


@server.tool()
async def ask(ctx: Context) -> str:
    """ask"""
    result = await ctx.elicit("Who are you?", Answer)
    return f"the user's answer: {result.action}"


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
config = uvicorn.Config(server.streamable_http_app(), log_level="error")
uvicorn.Server(config).run(sockets=[listener])
