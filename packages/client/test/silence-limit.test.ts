import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { UIMessage } from "ai";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createTransport } from "../src/react/create-transport.js";

/** A response that stays open and says nothing more, as a proxy leaves it whose server is gone. */
let server: Server;
let keepAliveMs: number | undefined;
beforeEach(async () => {
  keepAliveMs = undefined;
  server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write('data: {"type":"start","messageId":"m1"}\n\n');
    if (keepAliveMs === undefined) return;
    const timer = setInterval(() => response.write(": ping\n\n"), keepAliveMs);
    setTimeout(() => {
      clearInterval(timer);
      response.end('data: {"type":"finish"}\n\ndata: [DONE]\n\n');
    }, 2_500);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const repeat = globalThis.setInterval;
  // The limit is 8 checks of 5 s.
  vi.stubGlobal("setInterval", (run: () => void, ms?: number) => repeat(run, ms === 5_000 ? 150 : ms));
});
afterEach(() => {
  vi.unstubAllGlobals();
  server.closeAllConnections();
  server.close();
});

async function chunks(mode: "sse" | "ai-sdk"): Promise<string[]> {
  const { port } = server.address() as AddressInfo;
  const transport = createTransport<UIMessage>(mode, { baseUrl: `http://127.0.0.1:${port}`, chatId: "c1" });
  const stream = await transport.sendMessages({
    chatId: "c1",
    messages: [{ id: "u1", role: "user", parts: [{ type: "text", text: "hello" }] }],
    trigger: "submit-message",
    messageId: undefined,
    abortSignal: undefined,
  });
  const types: string[] = [];
  for await (const { type } of stream as unknown as AsyncIterable<{ type: string }>) types.push(type);
  return types;
}

for (const mode of ["sse", "ai-sdk"] as const) {
  it(`${mode}: a response that is silent for too long is lost`, async () => {
    await expect(chunks(mode)).rejects.toMatchObject({ code: "connection-lost" });
  });

  it(`${mode}: keep-alives count`, async () => {
    keepAliveMs = 100;
    expect(await chunks(mode)).toEqual(["start", "finish"]);
  });

  it(`${mode}: a page that could not read for a while does not take its own pause for silence`, async () => {
    keepAliveMs = 100;
    const reading = chunks(mode);
    // Time itself is what is tested: the process stands still in the middle of the response.
    await new Promise((resolve) => setTimeout(resolve, 500));
    const end = Date.now() + 1_500;
    while (Date.now() < end);
    expect(await reading).toEqual(["start", "finish"]);
  });
}
