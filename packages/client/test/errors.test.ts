import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { createHoldpoint, HoldpointError, LiveChatTransport } from "../src/index.js";
import { PlainChat } from "./support/chat.js";
import { startServer, type TestServer } from "./support/server.js";

const KEY = "key-of-alice-0123456789";
const KEY_SHA256 = createHash("sha256").update(KEY).digest("hex");

let server: TestServer;
beforeAll(async () => {
  server = await startServer({
    config: `[[auth.keys]]\nkey_sha256 = "${KEY_SHA256}"\nsubject = "alice"\nroles = ["approver"]\ngroups = ["finance"]\n`,
  });
});
afterAll(() => server.stop());

const failure = async (request: Promise<unknown>): Promise<HoldpointError> => {
  const error = await request.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(HoldpointError);
  return error as HoldpointError;
};
const answering = (body: string, init: ResponseInit) => ({
  baseUrl: "http://errors.example",
  fetch: async () => new Response(body, init),
});
const html = { "content-type": "text/html; charset=utf-8" };

describe("HoldpointError", () => {
  it("has the code of the server's problem report", async () => {
    expect(await failure(createHoldpoint({ baseUrl: server.url }).tools())).toMatchObject({
      code: "key-required",
      status: 401,
      isRetryable: false,
    });
    expect(await failure(createHoldpoint({ baseUrl: server.url, apiKey: "wrong" }).tools())).toMatchObject({
      code: "key-invalid",
    });
    const settled = await createHoldpoint({ baseUrl: server.url }).approvals.decide("a", { approved: true });
    expect(settled).toMatchObject({ state: "refused", error: { code: "key-required", status: 401 } });
  });

  it("says that a role is needed", async () => {
    const options = { baseUrl: server.url, apiKey: KEY };
    expect(await createHoldpoint(options).me()).toEqual({ subject: "alice", roles: ["approver"], groups: ["finance"] });
    const client = createHoldpoint(options);
    for (const request of [() => client.chats.stop("c"), () => client.status()]) {
      expect(await failure(request())).toMatchObject({ code: "role-required", status: 403, isRetryable: false });
    }
  });

  it("is there for a server that is not", async () => {
    const error = await failure(createHoldpoint({ baseUrl: "http://127.0.0.1:1" }).tools());
    expect(error).toMatchObject({ code: "unreachable", status: undefined, isRetryable: true });
    expect(error.cause).toBeInstanceOf(TypeError);
  });

  it.each([
    ["a page of a development server", "<!doctype html>", { status: 200, headers: html }],
    ["a page that there is none", "<html>Cannot GET</html>", { status: 404, headers: html }],
    ["a text", "hello", { status: 200 }],
  ])("says that another server answered: %s", async (_, body, init) => {
    expect(await failure(createHoldpoint(answering(body, init)).tools())).toMatchObject({ code: "not-holdpoint" });
    expect(await failure(createHoldpoint(answering(body, init)).holds.ofChat("c"))).toMatchObject({
      code: "not-holdpoint",
    });
  });

  it("keeps the status of a response without a report, and how long to wait", async () => {
    expect(
      await failure(createHoldpoint(answering("busy", { status: 503, headers: { "retry-after": "2" } })).tools()),
    ).toMatchObject({ code: "http-error", status: 503, retryAfterMs: 2_000, isRetryable: true });
  });

  it("is what the live transport fails with", async () => {
    const fail = async (options: { baseUrl: string; answerTimeoutMs?: number; maxAttempts?: number }) => {
      const transport = new LiveChatTransport({ chatId: "c", webSocket: WebSocket, ...options });
      const chat = new PlainChat({ id: "c", transport });
      await chat.sendMessage({ text: "hello" });
      transport.close();
      return chat.error;
    };
    const lost = await fail({ baseUrl: "http://127.0.0.1:1", maxAttempts: 1 });
    expect(lost).toBeInstanceOf(HoldpointError);
    expect(lost).toMatchObject({ code: "connection-lost" });
    const late = await fail({ baseUrl: "http://127.0.0.1:1", answerTimeoutMs: 50 });
    expect(late).toMatchObject({ code: "timeout" });
  });

  it("tells two decisions of this page apart from the server's refusal", async () => {
    const options = { baseUrl: "http://two.example", fetch: () => new Promise<Response>(() => {}) };
    const decider = createHoldpoint(options).approvals;
    void decider.decide("a", { approved: true });
    expect(await decider.decide("a", { approved: false })).toMatchObject({ error: { code: "other-decision" } });
  });
});
