import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserContext } from "@playwright/test";
import type { Cause, ChatHold } from "holdpoint/protocol";

/** The answer to a prompt: the body of `POST /api/tools/ack`. */
export interface Ack {
  toolCallId: string;
  status: string;
  output: unknown;
}

export interface PromptingChat {
  /** The accepted answers. */
  acks: Ack[];
  /** Makes the server refuse the next answer. */
  refuseNext: () => void;
  /** Lets the prompt expire. */
  expire: () => void;
  stop: () => void;
}

/**
 * A stand-in for the server for one chat in `ai-sdk` mode: a turn whose tool prompts the user, streamed as the server
 * does. It can be resumed from its start, and continues when the prompt is settled.
 */
export async function startPromptingChat(context: BrowserContext, schema: object): Promise<PromptingChat> {
  const acks: Ack[] = [];
  const told: object[] = [];
  const readers = new Set<ServerResponse>();
  let said: unknown[] = [];
  let holds: ChatHold[] = [];
  let isRefusing = false;
  let isOver = false;
  const tell = (...chunks: object[]) => {
    told.push(...chunks);
    for (const reader of readers) for (const chunk of chunks) reader.write(`data: ${JSON.stringify(chunk)}\n\n`);
  };
  const settle = (outcome: object, cause: Cause, text: string) => {
    const booked = { cause: "ran" as const, at: new Date().toISOString(), output: { booked: true } };
    holds = holds.map((hold) => ({
      ...hold,
      state: "settled",
      outcome: hold.kind === "prompt" ? { ...outcome, cause, at: booked.at } : booked,
    }));
    tell(
      { toolCallId: "question", ...outcome },
      { type: "tool-output-available", toolCallId: "booking", output: { booked: true } },
      { type: "finish-step" },
      { type: "start-step" },
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: text },
      { type: "text-end", id: "t" },
      { type: "finish-step" },
      { type: "finish", finishReason: "stop" },
    );
    for (const reader of readers) reader.end("data: [DONE]\n\n");
    readers.clear();
    isOver = true;
    said = [...said, { id: "answer", role: "assistant", parts: [...holds.map(partOf), { type: "text", text }] }];
  };
  const stream = (response: ServerResponse) => {
    response.writeHead(200, { "content-type": "text/event-stream", "x-vercel-ai-ui-message-stream": "v1" });
    for (const chunk of told) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    readers.add(response);
  };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += String(piece);
    const path = request.url ?? "";
    const json = (value: unknown, status = 200) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    if (path.endsWith("/messages")) return json(said);
    if (path.endsWith("/holds")) return json(holds);
    if (path.endsWith("/stream")) return isOver ? response.writeHead(204).end() : stream(response);
    if (path === "/api/tools/ack" && isRefusing) {
      isRefusing = false;
      return json({ ok: false, reason: "content: not now" }, 422);
    }
    if (path === "/api/tools/ack") {
      const ack = JSON.parse(body) as Ack;
      acks.push(ack);
      json({ ok: true });
      return settle({ type: "tool-output-available", output: ack.output }, "result", "That was your answer.");
    }
    said = (JSON.parse(body) as { messages: unknown[] }).messages;
    stream(response);
    const input = { message: "Which seat do you want?", from: "book_flight", schema };
    const common = { requestedAt: new Date().toISOString(), allowed: [], cut: false, messageId: "answer" };
    holds = [
      {
        ...common,
        toolCallId: "booking",
        toolName: "book_flight",
        input: { to: "Tokyo" },
        kind: "none",
        state: "running",
      },
      { ...common, toolCallId: "question", toolName: "ask_user", input, kind: "prompt", state: "waiting" },
    ];
    tell(
      { type: "start", messageId: "answer" },
      { type: "start-step" },
      { type: "tool-input-available", toolCallId: "booking", toolName: "book_flight", input: { to: "Tokyo" } },
      { type: "tool-input-available", toolCallId: "question", toolName: "ask_user", input },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await context.route(/\/api\/(chat|tools\/ack)(\/|$)/, (route) => {
    const { pathname } = new URL(route.request().url());
    return route.continue({ url: `http://127.0.0.1:${port}${pathname}` });
  });
  return {
    acks,
    refuseNext: () => {
      isRefusing = true;
    },
    expire: () =>
      settle({ type: "tool-output-error", errorText: "ask_user timed out after 60s" }, "expired", "Nobody answered."),
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A settled call as stored in the history. */
function partOf({ toolCallId, toolName, input, outcome }: ChatHold): object {
  const { cause = "ran", output, errorText } = outcome ?? {};
  const result = errorText === undefined ? { state: "output-available", output } : { state: "output-error", errorText };
  const callProviderMetadata = { holdpoint: { cause, decidedBy: [], edited: false } };
  return { type: `tool-${toolName}`, toolCallId, input, ...result, callProviderMetadata };
}
