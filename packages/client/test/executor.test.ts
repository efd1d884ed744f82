import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  askUser,
  FrontendToolExecutor,
  type FrontendToolExecutorOptions,
  type ToolProgress,
  type UserAnswer,
  type UserPrompt,
} from "../src/index.js";
import type { ChatHold, ToolSpec } from "../src/protocol.js";
import { nothingFor, until } from "./support/until.js";

const spec = (name: string, more: Partial<ToolSpec>): ToolSpec => ({
  name,
  description: "",
  inputSchema: {},
  execution: "frontend",
  approval: "never",
  approvalTimeoutSec: 300,
  ...more,
});
const tools = [
  spec("open-url", {}),
  spec("get_location", { approval: "always" }),
  spec("take_photo", { approval: { when: "/flash", equals: true } }),
  spec("pay", { execution: "server" }),
  spec("change_bgm", { execution: "delegate" }),
];

let http: HttpServer;
let baseUrl: string;
let responses: { status: number; body: object }[];
let acks: { toolCallId: string; status: string }[];
let holds: Partial<ChatHold>[];
let ids = 0;

beforeEach(async () => {
  responses = [];
  acks = [];
  holds = [];
  http = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += String(piece);
    if (request.url === "/api/chat/chat-1/holds") return response.end(JSON.stringify(holds));
    if (request.method === "GET") return response.end("[]");
    acks.push(JSON.parse(body) as (typeof acks)[number]);
    const { status, body: answer } = responses.shift() ?? { status: 200, body: { ok: true } };
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  baseUrl = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
});
afterEach(() => {
  http.closeAllConnections();
  http.close();
});

function make(options: Partial<FrontendToolExecutorOptions> = {}) {
  const handler = vi.fn(async (_input: unknown): Promise<unknown> => ({ done: true }));
  const names = tools.map(({ name }) => name);
  const reports: ToolProgress[] = [];
  const executor = new FrontendToolExecutor({
    baseUrl,
    chatId: "chat-1",
    handlers: Object.fromEntries(names.map((name) => [name, handler])),
    onProgress: (report) => reports.push(report),
    ...options,
  });
  executor.setTools(tools);
  const see = (...parts: { type: string }[]) => executor.observe([{ role: "assistant", parts }]);
  const last = () => reports.at(-1)?.state;
  return { executor, handler, reports, see, last };
}

function part(name: string, state: string, more: object = {}) {
  return { type: `tool-${name}`, toolCallId: `call-${ids++}`, state, input: { url: "x" }, ...more };
}

describe("runs", () => {
  it("a call once, however often it is seen and by whom", async () => {
    const { see, handler, last } = make();
    const other = make();
    const call = part("open-url", "input-available");
    for (let i = 0; i < 5; i++) see(call);
    other.see(call);
    await until("the end", () => last() === "done");
    see(call);
    expect([handler.mock.calls.length, other.handler.mock.calls.length]).toEqual([1, 0]);
    expect(acks).toHaveLength(1);
  });

  it("with the payload of the contract", async () => {
    const { see, last } = make();
    const call = part("open-url", "input-available");
    see(call);
    await until("the end", () => last() === "done");
    expect(acks).toEqual([
      {
        toolCallId: call.toolCallId,
        status: "success",
        output: { done: true },
        errorText: null,
        requestedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      },
    ]);
  });

  it.each([
    ["a call without an id", { ...part("open-url", "input-available"), toolCallId: "" }],
    ["the server's own call", part("pay", "input-available")],
    ["a call without a handler", part("unknown", "input-available")],
    ["one that needs approval", part("get_location", "input-available")],
    ["one that waits for approval", part("get_location", "approval-requested", { approval: { id: "a" } })],
    ["a denied one", part("get_location", "approval-responded", { approval: { id: "a", approved: false } })],
    ["a settled one", part("open-url", "output-available", { output: 1 })],
    ["one that is being written", part("open-url", "input-streaming")],
    ["one that the provider runs", part("open-url", "input-available", { providerExecuted: true })],
    ["a delegated one of the history", part("change_bgm", "output-available", { output: 1 })],
  ])("not %s", async (_, call) => {
    const { see, handler } = make();
    see(call);
    expect(handler).not.toHaveBeenCalled();
  });

  it("nothing before the tools are known, and delegated calls as soon as they are", () => {
    const handler = vi.fn();
    const executor = new FrontendToolExecutor({ baseUrl, chatId: "chat-1", handlers: { change_bgm: handler } });
    const chunk = {
      type: "tool-input-available",
      toolCallId: `call-${ids++}`,
      toolName: "change_bgm",
      input: { track: 1 },
    } as const;
    executor.observeChunk(chunk);
    expect(handler).not.toHaveBeenCalled();
    executor.setTools(tools);
    executor.observeChunk(chunk);
    expect(handler).toHaveBeenCalledTimes(1);
    expect(acks).toEqual([]);
  });

  const hold = (call: { toolCallId: string; type: string }, more: Partial<ChatHold> = {}): Partial<ChatHold> => ({
    toolCallId: call.toolCallId,
    toolName: call.type.slice("tool-".length),
    input: { of: "the record" },
    kind: "frontend",
    state: "waiting",
    cut: false,
    ...more,
  });

  it("a call that may need an approval when the record says that it waits for a browser", async () => {
    const { executor, see, handler, last } = make();
    const [asked, free] = [part("take_photo", "input-available"), part("take_photo", "input-available")];
    holds = [hold(asked, { kind: "approval" }), hold(free)];
    see(asked, free);
    await until("the end", () => last() === "done");
    expect(acks.map(({ toolCallId }) => toolCallId)).toEqual([free.toolCallId]);
    expect(handler.mock.calls[0]?.[0]).toEqual({ of: "the record" });
    executor.observe([{ role: "assistant", parts: [asked, free] }], [hold(asked)] as ChatHold[]);
    await until("the other", () => acks.length === 2);
  });

  it.each([
    ["waits for its approval", { kind: "approval" }],
    ["is settled", { state: "settled" }],
    ["was edited away", { cut: true }],
    ["runs on the server", { state: "running" }],
  ] as const)("not a call that the client has approved and that, as the record has it, %s", async (_, more) => {
    const { executor, handler } = make();
    const approval = { id: "a", approved: true };
    const call = part("get_location", "approval-responded", { approval });
    executor.observe([{ role: "assistant", parts: [call] }], [hold(call, more)] as ChatHold[]);
    executor.observe([{ role: "assistant", parts: [call] }], []);
    await nothingFor(50);
    expect(handler).not.toHaveBeenCalled();
  });

  it("an acknowledgement that is faster than its approval again", async () => {
    responses = Array.from({ length: 2 }, () => ({ status: 409, body: { ok: false, reason: "approval-required" } }));
    const { executor, last } = make();
    void executor.execute({ toolCallId: `call-${ids++}`, toolName: "get_location", input: {} });
    await until("the end", () => last() === "done");
    expect(acks).toHaveLength(3);
  });
});

describe("a tool without a handler", () => {
  const call = () => part("open-url", "input-available");

  it("is left to others", async () => {
    const { see, reports } = make({ handlers: {} });
    see(call());
    await nothingFor(50);
    expect([reports, acks]).toEqual([[], []]);
  });

  it("fails at once where nobody else is expected to run it, once", async () => {
    const { see, reports, last } = make({ handlers: {}, failsWithoutHandler: () => true });
    const failing = call();
    see(failing);
    see(failing);
    await until("the report", () => last() === "failed");
    const errorText = 'This browser has no handler for the tool "open-url".';
    expect(reports.at(-1)?.error?.message).toBe(errorText);
    expect(acks).toEqual([expect.objectContaining({ toolCallId: failing.toolCallId, status: "failed", errorText })]);
  });

  it("is not one that has only inherited it", async () => {
    const { see, last } = make({ handlers: Object.create({ "open-url": () => 1 }), failsWithoutHandler: () => true });
    see(call());
    await until("the report", () => last() === "failed");
  });
});

describe("a prompt of a running tool", () => {
  const promptCall = () =>
    part("ask_user", "input-available", { input: { message: "Which?", schema: {}, from: "book" } });
  /** A form that is never filled in, but for what `answer` says. */
  const form = () => {
    const prompts: UserPrompt[] = [];
    const answers: ((answer: UserAnswer) => void)[] = [];
    const prompt = (each: UserPrompt) =>
      new Promise<UserAnswer>((resolve, reject) => {
        prompts.push(each);
        answers.push(resolve);
        each.signal.addEventListener("abort", () => reject(new Error("withdrawn")));
      });
    return { prompts, answers, handlers: { ask_user: askUser({ prompt }) } };
  };

  it("is opened although no tool is listed, and acknowledged", async () => {
    const { prompts, answers, handlers } = form();
    const reports: ToolProgress[] = [];
    const executor = new FrontendToolExecutor({
      baseUrl,
      chatId: "chat-1",
      handlers,
      onProgress: (report) => reports.push(report),
    });
    const call = promptCall();
    const see = () => executor.observe([{ role: "assistant", parts: [call] }]);
    see();
    executor.setTools([]);
    see();
    expect(prompts).toEqual([
      expect.objectContaining({ message: "Which?", from: "book", toolCallId: call.toolCallId }),
    ]);
    answers[0]?.({ action: "accept", content: { seat: "12A" } });
    await until("the end", () => reports.at(-1)?.state === "done");
    see();
    expect(prompts).toHaveLength(1);
    const output = { action: "accept", content: { seat: "12A" } };
    expect(acks).toEqual([expect.objectContaining({ toolCallId: call.toolCallId, status: "success", output })]);
  });

  it("is opened in every hook, and withdrawn where another one or time was faster", async () => {
    const [here, there] = [form(), form()];
    const [one, two] = [make({ handlers: here.handlers }), make({ handlers: there.handlers })];
    const call = promptCall();
    one.see(call);
    two.see(call);
    here.answers[0]?.({ action: "decline" });
    await until("the end", () => one.last() === "done");
    expect(there.prompts[0]?.signal.aborted).toBe(false);
    two.see({ ...call, state: "output-error", errorText: "timeout" } as typeof call);
    expect(there.prompts[0]?.signal.aborted).toBe(true);
    await until("the other end", () => two.last() === "done");
    expect(acks).toEqual([expect.objectContaining({ output: { action: "decline" } })]);
  });

  it("is withdrawn with its page, and opened again by the next and by hand", async () => {
    const { prompts, answers, handlers } = form();
    const { executor, see, reports, last } = make({ handlers });
    const call = promptCall();
    see(call);
    executor.leave();
    expect(prompts[0]?.signal.aborted).toBe(true);
    see(call);
    expect(prompts).toHaveLength(2);
    responses = [{ status: 422, body: { ok: false, reason: "content: wrong" } }];
    answers[1]?.({ action: "accept" });
    await until("the report", () => last() === "failed");
    expect(reports.at(-1)?.error?.message).toContain("content: wrong");
    const again = executor.retry(call.toolCallId);
    answers[2]?.({ action: "cancel" });
    await again;
    expect(acks.at(-1)).toMatchObject({ output: { action: "cancel" } });
  });
});

describe("failures", () => {
  it("of the server are tried again", async () => {
    responses = [
      { status: 503, body: {} },
      { status: 429, body: {} },
    ];
    const { see, last } = make();
    see(part("open-url", "input-available"));
    await until("the end", () => last() === "done");
    expect(acks).toHaveLength(3);
  });

  it.each([
    [404, "unknown", "does not know"],
    [409, "another result", "Another result"],
    [410, "expired", "too late"],
    [422, "requestedAt: missing", "requestedAt"],
  ])("%i is reported, in words", async (status, reason, words) => {
    responses = [{ status, body: { ok: false, reason } }];
    const { see, reports, last } = make();
    see(part("open-url", "input-available"));
    await until("the report", () => last() === "failed");
    expect(reports.at(-1)?.error?.message).toContain(words);
    expect(acks).toHaveLength(1);
  });

  it("of a handler are acknowledged and reported, and can be tried again by hand", async () => {
    const { executor, see, handler, reports, last } = make();
    handler.mockRejectedValueOnce(new Error("popup blocked"));
    const call = part("open-url", "input-available");
    see(call);
    await until("the report", () => last() === "failed");
    expect(reports.at(-1)?.error?.message).toBe("popup blocked");
    expect(acks[0]).toMatchObject({ status: "failed", errorText: "popup blocked" });
    await executor.retry(call.toolCallId);
    expect(last()).toBe("done");
    expect(handler).toHaveBeenCalledTimes(2);
    await expect(executor.retry("never seen")).rejects.toThrow("no handler for this call");
  });

  it("before a reload are tried again by hand: open calls are answered, settled ones only run", async () => {
    const { executor, see, handler } = make();
    const asking = part("get_location", "approval-requested", { approval: { id: "a" } });
    const settled = part("open-url", "output-error", { errorText: "timeout" });
    const delegated = part("change_bgm", "output-available", { output: 1 });
    see(asking, settled, delegated);
    await executor.retry(settled.toolCallId);
    await executor.retry(delegated.toolCallId);
    expect(handler).toHaveBeenCalledTimes(2);
    expect(acks).toEqual([]);
    await expect(executor.retry(asking.toolCallId)).rejects.toThrow("waiting for approval");
  });
});
