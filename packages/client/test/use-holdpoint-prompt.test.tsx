// @vitest-environment jsdom

import { act, cleanup, renderHook } from "@testing-library/react";
import { StrictMode } from "react";
import { afterEach, expect, it } from "vitest";
import { askUser, type UserAnswer, type UserPrompt } from "../src/index.js";
import { useHoldpoint } from "../src/react/index.js";
import { toolPartOf } from "../src/tools/tool-part.js";
import { until } from "./support/until.js";

afterEach(cleanup);

/** A server with one turn, whose tool asks the user something: it goes on when that is acknowledged. */
function askingServer() {
  const requests: { path: string; body: unknown }[] = [];
  let tell: (...chunks: object[]) => void = () => {};
  const turn = () => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        const write = (data: string) => controller.enqueue(new TextEncoder().encode(`data: ${data}\n\n`));
        tell = (...chunks) => {
          for (const chunk of chunks) write(JSON.stringify(chunk));
          if (!chunks.some((chunk) => "finishReason" in chunk)) return;
          write("[DONE]");
          controller.close();
        };
        const input = { message: "Which seat?", schema: {}, from: "book" };
        tell(
          { type: "start", messageId: "m" },
          { type: "start-step" },
          { type: "tool-input-available", toolCallId: "booking", toolName: "book", input: {} },
          { type: "tool-input-available", toolCallId: "question", toolName: "ask_user", input },
        );
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
  const fake: typeof fetch = async (input, init) => {
    const path = String(input);
    if (init?.method !== "POST")
      return path.includes("/api/tools") ? Response.json([]) : new Response(null, { status: 404 });
    const body: unknown = JSON.parse(String(init.body));
    requests.push({ path, body });
    if (!path.endsWith("/ack")) return turn();
    const { output } = body as { output: unknown };
    tell(
      { type: "tool-output-available", toolCallId: "question", output },
      { type: "tool-output-available", toolCallId: "booking", output: { booked: true } },
      { type: "finish-step" },
      { type: "start-step" },
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: "Booked." },
      { type: "text-end", id: "t" },
      { type: "finish-step" },
      { type: "finish", finishReason: "stop" },
    );
    return Response.json({ ok: true });
  };
  return { requests, fetch: fake };
}

it.each(["sse", "ai-sdk"] as const)("a prompt is acknowledged, and nothing else is sent: %s", async (mode) => {
  const server = askingServer();
  const prompts: UserPrompt[] = [];
  const prompt = (each: UserPrompt) => {
    prompts.push(each);
    return new Promise<UserAnswer>((resolve) => answers.push(resolve));
  };
  const answers: ((answer: UserAnswer) => void)[] = [];
  const { result, unmount } = renderHook(useHoldpoint, {
    wrapper: StrictMode,
    initialProps: {
      mode,
      id: `ask-${mode}`,
      baseUrl: "http://asking.example",
      fetch: server.fetch,
      handlers: { ask_user: askUser({ prompt }) },
    },
  });
  await act(async () => void result.current.sendMessage({ text: "book" }));
  await until("the prompt", () => prompts.length > 0);
  expect(prompts).toEqual([expect.objectContaining({ toolCallId: "question", message: "Which seat?", from: "book" })]);
  await act(async () => answers[0]?.({ action: "accept", content: { seat: "12A" } }));
  await until("the end", () => result.current.messages.at(-1)?.parts.some(({ type }) => type === "text"));
  await until("the end of the response", () => result.current.status === "ready");
  const states = result.current.messages.at(-1)?.parts.flatMap((part) => toolPartOf(part)?.state ?? []);
  expect(states).toEqual(["output-available", "output-available"]);
  expect(server.requests.map(({ path }) => path.slice("http://asking.example".length))).toEqual([
    mode === "sse" ? "/stream" : "/api/chat",
    "/api/tools/ack",
  ]);
  expect(server.requests[1]?.body).toMatchObject({ output: { action: "accept", content: { seat: "12A" } } });
  expect(prompts).toHaveLength(1);
  unmount();
});

it("a page that is left withdraws its prompt", async () => {
  const prompts: UserPrompt[] = [];
  const prompt = (each: UserPrompt) => {
    prompts.push(each);
    return new Promise<UserAnswer>(() => {});
  };
  const handlers = { ask_user: askUser({ prompt }) };
  const initialProps = { mode: "sse" as const, id: "left", baseUrl: "http://asking.example", handlers };
  const { result, unmount } = renderHook(useHoldpoint, {
    initialProps: { ...initialProps, fetch: askingServer().fetch },
  });
  await act(async () => void result.current.sendMessage({ text: "book" }));
  await until("the prompt", () => prompts.length > 0);
  expect(prompts[0]?.signal.aborted).toBe(false);
  unmount();
  expect(prompts[0]?.signal.aborted).toBe(true);
});
