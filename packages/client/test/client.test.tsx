// @vitest-environment jsdom

import { act, cleanup, renderHook } from "@testing-library/react";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createHoldpoint, FrontendToolExecutor, LiveChatTransport } from "../src/index.js";
import { useApprovals, useChats, useHoldpoint, useServerStatus } from "../src/react/index.js";
import { toolPartsOf } from "../src/tools/tool-part.js";
import { newChatId } from "./support/hook.js";
import { startServer, type TestServer } from "./support/server.js";
import { until } from "./support/until.js";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());
afterEach(cleanup);

describe("a client", () => {
  it("has everything of a server, with the same options for every request", async () => {
    const seen: { path: string; authorization: string | null }[] = [];
    const client = createHoldpoint({
      baseUrl: "http://one.example",
      apiKey: async () => "a key",
      fetch: async (input, init) => {
        const { pathname } = new URL(String(input));
        seen.push({
          path: `${init?.method} ${pathname}`,
          authorization: new Headers(init?.headers).get("authorization"),
        });
        return pathname === "/api/audit" ? new Response("") : Response.json([]);
      },
    });
    await client.chats.list();
    await client.chats.messages("c/1");
    await client.holds.ofChat("c/1");
    await client.chats.stop("c/1");
    await client.chats.delete("c/1");
    await client.approvals.list();
    await client.approvals.get("a");
    await client.approvals.record("a");
    await client.grants.list();
    await client.grants.revoke("g");
    await client.audit.list();
    await client.tools();
    await client.me();
    await client.status();
    expect(seen.map(({ path }) => path)).toEqual([
      "GET /api/chats",
      "GET /api/chat/c%2F1/messages",
      "GET /api/chat/c%2F1/holds",
      "POST /api/chat/c%2F1/stop",
      "DELETE /api/chat/c%2F1",
      "GET /api/approvals",
      "GET /api/approvals/a",
      "GET /api/approvals/a/record",
      "GET /api/grants",
      "DELETE /api/grants/g",
      "GET /api/audit",
      "GET /api/tools",
      "GET /api/me",
      "GET /api/status",
    ]);
    expect(new Set(seen.map(({ authorization }) => authorization))).toEqual(new Set(["Bearer a key"]));
  });

  it("aborts any request", async () => {
    const never: typeof fetch = (_, init) =>
      new Promise((_resolve, reject) => {
        if (init?.signal?.aborted) reject(init.signal.reason);
        init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
      });
    const client = createHoldpoint({ baseUrl: "http://silent.example", fetch: never });
    const link = "/api/chat/c/files/k/0";
    const requests: ((options: { signal: AbortSignal }) => Promise<unknown>)[] = [
      (options) => client.chats.list(options),
      (options) => client.chats.messages("c", options),
      (options) => client.holds.ofChat("c", options),
      (options) => client.chats.stop("c", options),
      (options) => client.chats.delete("c", options),
      (options) => client.chats.file(link, options),
      (options) => client.approvals.list({}, options),
      (options) => client.approvals.get("a", options),
      (options) => client.approvals.record("a", options),
      (options) => client.approvals.decide("a", { approved: true }, options),
      (options) => client.grants.list(options),
      (options) => client.grants.revoke("g", options),
      (options) => client.audit.list({}, options),
      (options) => client.audit.lines({}, options).next(),
      (options) => client.tools(options),
      (options) => client.me(options),
      (options) => client.status(options),
      (options) => client.check("", options),
    ];
    for (const request of requests) {
      const abort = new AbortController();
      const asked = request({ signal: abort.signal });
      abort.abort();
      await expect(asked, String(request)).rejects.toMatchObject({ name: "AbortError" });
    }
  });

  it("is not given beside options that it has itself", () => {
    const client = createHoldpoint({ baseUrl: "http://one.example" });
    const both = { client, apiKey: "key" };
    const words = "give apiKey to createHoldpoint";
    expect(() => new LiveChatTransport({ ...both, chatId: "c" })).toThrow(words);
    expect(() => new FrontendToolExecutor({ ...both, chatId: "c", handlers: {} })).toThrow(words);
    expect(() => renderHook(() => useChats(both))).toThrow(words);
  });
});

describe("the hooks", () => {
  it("take a client; a chat is of the profile of the AI SDK, and says what is going on with its calls", async () => {
    const paths: string[] = [];
    const client = createHoldpoint({
      baseUrl: server.url,
      fetch: (input, init) => {
        paths.push(`${init?.method ?? "GET"} ${new URL(String(input)).pathname}`);
        return fetch(input, init);
      },
    });
    const id = newChatId("client");
    const { result } = renderHook(() => ({
      chat: useHoldpoint({ client, id, messages: [] }),
      inbox: useApprovals({ client, filter: { chat: id } }),
      server: useServerStatus({ client }),
    }));
    const chat = () => result.current.chat;
    expect(chat().callStatus("nothing")).toMatchObject({ kind: "preparing" });
    await act(async () => void chat().sendMessage({ text: "send $50 to Hanako" }));
    const [request] = await until("the request", () => {
      const { approvals } = result.current.inbox;
      return approvals?.length === 1 && chat().pendingApprovals.length === 1 && approvals;
    });
    expect(paths).toContain("POST /api/chat");
    expect(paths.some((path) => path.endsWith("/stream") && path.startsWith("POST"))).toBe(false);
    const [call] = chat().messages.flatMap(toolPartsOf);
    const status = () => chat().callStatus(call?.toolCallId ?? "");
    expect(status()).toMatchObject({
      kind: "approval-requested",
      label: "Waiting for you",
      approvalId: request?.approvalId,
      mayDecide: true,
    });
    await act(async () => void (await chat().deny(request?.approvalId ?? "", "not today")));
    await until("the record", () => status().kind === "settled" && status().text.startsWith("Denied by"));
    expect(status()).toMatchObject({ outcome: "denied", cause: "decision", label: "Denied", tone: "bad" });
    expect(status().text).toContain("not today. It did not run.");
    expect(result.current.server.state).toBe("connected");
  });
});
