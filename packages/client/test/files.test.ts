import { describe, expect, it } from "vitest";
import { callOfFile, createHoldpoint } from "../src/index.js";

describe("a link to a file of a call", () => {
  it("names the call", () => {
    expect(callOfFile("/api/chat/chat_1/files/call_1/0")).toBe("call_1");
    expect(callOfFile("/api/chat/%2E%2E%2Fa%20b/files/call%2E1%C3%A9/12")).toBe("call.1é");
  });

  it.each([
    "https://evil.example/api/chat/c/files/k/0",
    "//evil.example/api/chat/c/files/k/0",
    "/\\evil.example/api/chat/c/files/k/0",
    "javascript:alert(1)//api/chat/c/files/k/0",
    "data:image/png,/api/chat/c/files/k/0",
    "api/chat/c/files/k/0",
    "/api/chat/c/files/k",
    "/api/chat/c/files/k/0/",
    "/api/chat/c/files/k/00",
    "/api/chat/c/files/k/-1",
    "/api/chat/c/files/k/0?x=1",
    "/api/chat/c/files/k/0#x",
    "/api/chat/c/files/k/0\n",
    "/api/chat//files/k/0",
    "/api/chat/../files/k/0",
    "/api/chat/%2E%2E/files/k/0",
    "/api/chat/c/files/%2E/0",
    "/api/chat/c/files/%2e%2e/0",
    "/api/chat/c/files/%FF/0",
    "/api/chat/c/d/files/k/0",
    "/api/approvals/c/files/k/0",
    " /api/chat/c/files/k/0",
    42,
    null,
    undefined,
    ["/api/chat/c/files/k/0"],
  ])("is nothing else: %j", (link) => {
    expect(callOfFile(link)).toBeUndefined();
  });

  it("is not a page of somebody else", async () => {
    const fetch = async () => new Response("<h1>Sign in</h1>", { headers: { "content-type": "text/html" } });
    const reading = createHoldpoint({ baseUrl: "http://pages.example", fetch }).chats.file("/api/chat/c/files/k/0");
    await expect(reading).rejects.toMatchObject({ code: "not-holdpoint" });
  });

  it("is read with the key, and nothing else is asked for", async () => {
    const asked: [string, string | undefined][] = [];
    const options = {
      baseUrl: "http://files.example",
      apiKey: "key-of-ann",
      fetch: async (input: RequestInfo | URL, init?: RequestInit) => {
        asked.push([String(input), new Headers(init?.headers).get("authorization") ?? undefined]);
        // A file may be a web page. It does not come instead of an answer, so nobody is asked whether the server is there.
        return new Response("bytes", { headers: { "content-type": "text/html", "content-disposition": "attachment" } });
      },
    };
    const file = await createHoldpoint(options).chats.file("/api/chat/c/files/k/0");
    expect(await file.text()).toBe("bytes");
    await expect(createHoldpoint(options).chats.file("//evil.example/api/chat/c/files/k/0")).rejects.toThrow(TypeError);
    expect(asked).toEqual([["http://files.example/api/chat/c/files/k/0", "Bearer key-of-ann"]]);
  });
});
