// @vitest-environment jsdom

import { act, cleanup } from "@testing-library/react";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { settledMetadata } from "../src/calls/settled-metadata.js";
import { toolPartsOf } from "../src/tools/tool-part.js";
import { elsewhere } from "./support/elsewhere.js";
import { modes, newChatId, renderChat } from "./support/hook.js";
import { startProxy } from "./support/proxy.js";
import { startServer, type TestServer } from "./support/server.js";
import { nothingFor, until } from "./support/until.js";

const pay = (amount: number) => ({
  toolCall: { name: "process_payment", input: { amount, recipient: "Alice", currency: "USD" } },
});
const script = {
  turns: [
    { when: "pay", steps: [[pay(30)], [{ text: ["Done."] }]] },
    { when: "slow", steps: [[{ text: ["First, "] }, { waitMs: 1_500 }, { text: ["last."] }]] },
    { when: "photo", steps: [[{ toolCall: { name: "take_photo", input: {} } }], [{ text: ["Smile."] }]] },
    { when: "gated", steps: [[{ toolCall: { name: "scan", input: {} } }], [{ text: ["Scanned."] }]] },
    { when: "sometimes", steps: [[{ toolCall: { name: "beep", input: { loud: false } } }], [{ text: ["Beep."] }]] },
    { when: "hello", steps: [[{ text: ["Hello."] }]] },
  ],
};
const frontend = (name: string, approval: string, more = "") =>
  `[tools.${name}]\nexecution = "frontend"\ndescription = "x"\ntimeout_sec = 20\napproval = ${approval}\ninput_schema = { type = "object" }\n${more}`;
const config = [
  frontend("take_photo", '"never"'),
  frontend("scan", '"always"'),
  frontend("beep", '{ when = "/loud", equals = true }'),
].join("\n");

let server: TestServer;
let proxy: Awaited<ReturnType<typeof startProxy>>;
beforeAll(async () => {
  server = await startServer({ script, config, isDurable: true });
  proxy = await startProxy(server.url);
});
afterAll(async () => {
  await proxy.stop();
  await server.stop();
});
afterEach(async () => {
  cleanup();
  await server.restart();
});

const textOf = (message: { parts: { type: string }[] } | undefined) => {
  const last = message?.parts.at(-1) as { type: string; text?: string } | undefined;
  return last?.type === "text" ? last.text : undefined;
};

describe.each(modes)("%s", (mode) => {
  const open = (options: Partial<Parameters<typeof renderChat>[1]> = {}) =>
    renderChat(mode, { baseUrl: server.url, ...options });
  const ended = (chat: ReturnType<typeof open>, text: string) =>
    until(
      `${mode}: ${text}`,
      () => chat.chat().status === "ready" && textOf(chat.chat().messages.at(-1)) === text,
      15_000,
    );

  describe("holds", () => {
    it("are current while an approval request is open, and after it", async () => {
      const chat = open();
      await chat.say("pay");
      const id = await chat.approvalRequest();
      const waiting = await until("the hold", () => chat.chat().holds?.find((hold) => hold.approvalId === id));
      expect(waiting).toMatchObject({ kind: "approval", state: "waiting", toolName: "process_payment", cut: false });
      expect(await elsewhere(server.url).decide(id, false, "no")).toBe(200);
      await ended(chat, "Done.");
      const settled = await until("the outcome", () => chat.chat().holds?.find((hold) => hold.outcome !== undefined));
      expect(settled).toMatchObject({
        decision: { kind: "deny", by: ["local"], reason: "no" },
        outcome: { cause: "decision" },
      });
      expect(chat.chat().decisions[id]).toBeUndefined();
    });

    it("keep what a regenerated turn did", async () => {
      const chat = open();
      await chat.say("pay");
      const id = await chat.approvalRequest();
      await act(async () => void (await chat.chat().approve(id)));
      await ended(chat, "Done.");
      await act(async () => void chat.chat().regenerate());
      await until("the new approval request", () => chat.calls().some(({ state }) => state === "approval-requested"));
      await until("both", () => chat.chat().holds?.length === 2);
      expect(chat.chat().holds).toMatchObject([
        { cut: true, state: "settled", outcome: { cause: "ran" }, decision: { kind: "approve" } },
        { cut: false, state: "waiting" },
      ]);
    });

    it("list calls that never waited, if they are asked for", async () => {
      const chat = open({ calls: "all" });
      await chat.say("photo");
      await until("the call", () => chat.chat().holds?.some(({ toolName }) => toolName === "take_photo"));
    });
  });

  it("of a new chat is not asked for before the server has it", async () => {
    const found: string[] = [];
    const spy: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (response.status === 404) found.push(String(input));
      return response;
    };
    const chat = open({ fetch: spy, messages: [] });
    await until("the connection", () => chat.chat().server.state === "connected");
    await chat.say("pay");
    await chat.approvalRequest();
    await until("the hold", () => chat.chat().holds?.length === 1);
    expect(found).toEqual([]);
  });

  it("shows what happens in another tab: its approval request, its decision, its next message", async () => {
    const chatId = newChatId(`tabs-${mode}`);
    const [one, two] = [open({ id: chatId }), open({ id: chatId })];
    await one.say("pay");
    const id = await one.approvalRequest();
    await until("the approval request in the other", () => two.calls()[0]?.approval?.id === id);
    await until("the message before it", () => two.chat().messages.length === 2);
    await act(async () => void (await two.chat().deny(id)));
    for (const tab of [one, two]) {
      await ended(tab, "Done.");
      expect(
        settledMetadata(await until("the cause", () => settledMetadata(tab.calls()[0]) && tab.calls()[0])),
      ).toMatchObject({
        cause: "decision",
      });
    }
    await act(async () => void two.chat().sendMessage({ text: "hello" }));
    for (const tab of [one, two]) await ended(tab, "Hello.");
    const ids = (tab: typeof one) =>
      tab
        .chat()
        .messages.map(({ id }) => id)
        .join();
    await until("the same messages", () => ids(one) === ids(two));
    expect(one.chat().messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  });

  it.skipIf(mode === "live")("does not resume a turn of another tab if it is told not to", async () => {
    const chatId = newChatId(`still-${mode}`);
    const [one, two] = [open({ id: chatId }), open({ id: chatId, resume: false })];
    await until("the tools", () => two.chat().tools);
    await one.say("slow");
    await until("the message in the other", () => two.chat().messages.length === 1);
    expect(two.chat().status).toBe("ready");
    await ended(two, "last.");
  });

  it("a request that was approved elsewhere is not open here, although nothing has followed yet", async () => {
    const chat = open({ handlers: undefined });
    await chat.say("gated");
    const id = await chat.approvalRequest();
    expect(await elsewhere(server.url).decide(id, true)).toBe(200);
    await until("the decision", () => chat.calls()[0]?.state.match(/^(approval-responded|input-available)$/));
    await until("the hold", () => chat.chat().holds?.[0]?.kind === "frontend");
    const { toolCallId } = chat.calls()[0] ?? { toolCallId: "" };
    expect(await elsewhere(server.url).acknowledge(toolCallId, 1)).toBe(200);
    await ended(chat, "Scanned.");
  });

  it("follows a turn of another tab while it is written", async () => {
    const chatId = newChatId(`write-${mode}`);
    const [one, two] = [open({ id: chatId }), open({ id: chatId })];
    await until("the tools", () => two.chat().tools);
    await one.say("slow");
    await until("the beginning in the other", () => textOf(two.chat().messages.at(-1))?.startsWith("First"));
    await until("the message that it answers", () => two.chat().messages.length === 2);
    expect(two.chat().messages[0]?.role).toBe("user");
    // A resume that another one replaced has the status of a request without a response, for a moment.
    expect(["submitted", "streaming"]).toContain(two.chat().status);
    for (const tab of [one, two]) await ended(tab, "last.");
  });

  it("a request that a newer message superseded is not open while that message is answered", async () => {
    const chat = open();
    await chat.say("pay");
    await chat.approvalRequest();
    // The request is shown before its response has ended. The end of that one must not be taken for the end of the next.
    await until("the end of the response", () => chat.chat().status === "ready");
    await act(async () => void chat.chat().sendMessage({ text: "slow" }));
    const old = () => chat.chat().messages.slice(0, -1).flatMap(toolPartsOf)[0];
    // React may render the messages and the status one after the other.
    const isAnswered = () => ["submitted", "streaming"].includes(chat.chat().status);
    await until("the outcome, while it is answered", () => old()?.state === "output-denied" && isAnswered());
    expect(settledMetadata(old())).toMatchObject({ cause: "superseded", decidedBy: [] });
    await ended(chat, "last.");
  });

  // The SDK takes the late answer to a resume for the end of the response.
  it.skipIf(!mode.match(/^(sse|ai-sdk)$/))(
    "a message is being answered, although a late resume finds nothing",
    async () => {
      let answer: () => void = () => {};
      const late = new Promise<void>((resolve) => {
        answer = resolve;
      });
      let resumes = 0;
      const slowResume: typeof fetch = async (input, init) => {
        const response = await fetch(input, init);
        if (!String(input).endsWith("/stream") || (init?.method ?? "GET") !== "GET") return response;
        await late;
        resumes++;
        return response;
      };
      const chat = open({ fetch: slowResume });
      await chat.say("slow");
      await until("the beginning", () => textOf(chat.chat().messages.at(-1))?.startsWith("First"));
      const seen: string[] = [];
      answer();
      await until("the end", () => {
        if (resumes > 0) seen.push(chat.chat().status);
        return textOf(chat.chat().messages.at(-1)) === "last.";
      });
      expect(seen.length).toBeGreaterThan(10);
      expect(seen.slice(0, -5)).not.toContain("ready");
      await ended(chat, "last.");
    },
  );

  describe("the server", () => {
    it("is known to be away while nothing is asked of it, and to be back", async () => {
      const chat = open();
      await until("the connection", () => chat.chat().server.state === "connected");
      const before = Date.now();
      await server.kill();
      await until("the loss", () => chat.chat().server.state === "unreachable");
      expect(chat.chat().server.since.getTime()).toBeGreaterThanOrEqual(before);
      await server.restart();
      await until("the return", () => chat.chat().server.state === "connected");
      await chat.say("hello");
      await ended(chat, "Hello.");
    });

    it("that was away has not got what was said meanwhile, and gets it once", async () => {
      const chat = open({ live: { maxAttempts: 2 } });
      await chat.say("hello");
      await ended(chat, "Hello.");
      await server.kill();
      await act(async () => void chat.chat().sendMessage({ text: "pay" }));
      await until("the failure", () => chat.chat().unsent.length === 1, 15_000);
      const [unsent] = chat.chat().unsent;
      expect(chat.chat().messages.at(-1)?.id).toBe(unsent);
      await until("the error", () => chat.chat().status === "error");
      await server.restart();
      await until("the return", () => chat.chat().server.state === "connected");
      await act(() => nothingFor(300));
      // Still: nobody has sent it again.
      expect(chat.chat().unsent).toEqual([unsent]);
      expect(chat.chat().messages.at(-1)?.id).toBe(unsent);
      await act(async () => void chat.chat().resend());
      await until(
        "the approval request",
        () => chat.calls().some(({ state }) => state === "approval-requested"),
        15_000,
      );
      expect(chat.chat().unsent).toEqual([]);
      const stored = await elsewhere(server.url).messages(chat.chatId);
      expect(stored.filter(({ role }) => role === "user").map(({ id }) => id)).toEqual(
        chat
          .chat()
          .messages.filter(({ role }) => role === "user")
          .map(({ id }) => id),
      );
    }, 60_000);

    it("that got a message whose answer was lost is not sent it again", async () => {
      const chat = open({ baseUrl: proxy.url });
      await until("the tools", () => chat.chat().tools);
      if (mode === "sse" || mode === "ai-sdk") {
        proxy.loseAnswer(/POST \/(stream|api\/chat)$/);
        await act(async () => void chat.chat().sendMessage({ text: "slow" }));
        await until("the failure", () => chat.errors.length > 0, 15_000);
      } else {
        await act(async () => void chat.chat().sendMessage({ text: "slow" }));
        await until("the beginning", () => textOf(chat.chat().messages.at(-1)) === "First, ");
        proxy.cut();
      }
      await ended(chat, "last.");
      expect(chat.chat().unsent).toEqual([]);
      expect(chat.chat().error).toBeUndefined();
      const stored = await elsewhere(server.url).messages(chat.chatId);
      expect(stored).toHaveLength(2);
    }, 60_000);

    it("that was away when a turn was to be made again has the old one, and so has the screen", async () => {
      const chat = open({ live: { maxAttempts: 2 } });
      await chat.say("hello");
      await ended(chat, "Hello.");
      const before = chat.chat().messages.map(({ id }) => id);
      await server.kill();
      await act(async () => void chat.chat().regenerate());
      await until("the failure", () => chat.chat().status === "error", 15_000);
      await server.restart();
      await ended(chat, "Hello.");
      if (mode !== "live") expect(chat.chat().messages.map(({ id }) => id)).toEqual(before);
      expect(chat.chat().messages).toHaveLength(2);
    }, 60_000);
  });

  describe("stop", () => {
    it("ends a response that is being written, and says what became of it", async () => {
      const chat = open();
      await chat.say("slow");
      await until("the beginning", () => textOf(chat.chat().messages.at(-1)) === "First, ");
      await act(async () => void (await chat.chat().stop()));
      expect(chat.chat().stopping).toBeUndefined();
      await until("the end", () => chat.chat().status === "ready");
      const stored = await elsewhere(server.url).messages(chat.chatId);
      expect(textOf(stored.at(-1))).toBe("First, ");
    });

    it("says that the server was not told", async () => {
      const chat = open({ live: { maxAttempts: 2 } });
      await chat.say("slow");
      await until("the beginning", () => textOf(chat.chat().messages.at(-1)) === "First, ");
      await server.kill();
      let stopped: Promise<void> = Promise.resolve();
      await act(async () => {
        stopped = chat.chat().stop();
      });
      expect(chat.chat().stopping).toEqual({ state: "sending" });
      await act(
        async () =>
          void (await Promise.race([stopped, until("the report", () => chat.chat().stopping?.state === "failed")])),
      );
      expect(chat.chat().stopping).toMatchObject({ state: "failed" });
      await server.restart();
      // Nobody has stopped it.
      await until("the turn, made again", () => textOf(chat.chat().messages.at(-1)) === "last.", 20_000);
    }, 60_000);
  });

  describe("a tool without a handler", () => {
    const failed = 'This browser has no handler for the tool "take_photo".';

    it("fails at once, and the model is told", async () => {
      const chat = open();
      const begun = Date.now();
      await chat.say("photo");
      await ended(chat, "Smile.");
      expect(Date.now() - begun).toBeLessThan(5_000);
      expect(chat.calls()[0]).toMatchObject({ state: "output-error", errorText: failed });
      // The server's answer to the acknowledgement may come after the text.
      const errors = await until("the report", () => {
        const found = Object.values(chat.chat().toolErrors);
        return found.length > 0 && found;
      });
      expect(errors.map(({ message }) => message)).toEqual([failed]);
    });

    it("fails at once after its approval, which may come after a reload", async () => {
      const first = open();
      await first.say("gated");
      const id = await first.approvalRequest();
      first.hook.unmount();
      const chat = open({ id: first.chatId });
      await until("the approval request", () => chat.calls()[0]?.approval?.id === id);
      await act(async () => void (await chat.chat().approve(id)));
      await ended(chat, "Scanned.");
      expect(chat.calls()[0]).toMatchObject({ state: "output-error" });
    });

    it("is left to others by a page that only watches", async () => {
      const chatId = newChatId(`watch-${mode}`);
      const other = elsewhere(server.url);
      const turn = other.say(chatId, "u1", "photo");
      const chat = open({ id: chatId });
      const hold = await until("the hold", () => chat.chat().tools && chat.chat().holds?.[0]);
      await act(() => nothingFor(300));
      expect(chat.chat().toolRuns).toEqual({});
      expect(await other.acknowledge(hold.toolCallId, "a photo")).toBe(200);
      await ended(chat, "Smile.");
      expect(chat.calls()[0]).toMatchObject({ state: "output-available", output: "a photo" });
      await turn;
    });

    it("is left alone by a page that has no handlers at all", async () => {
      const chat = open({ handlers: undefined });
      await chat.say("photo");
      await until("the hold", () => chat.chat().holds?.[0]?.kind === "frontend");
      await act(() => nothingFor(300));
      expect(chat.chat().holds?.[0]?.state).toBe("waiting");
      expect(chat.chat().toolRuns).toEqual({});
      const { toolCallId } = chat.calls()[0] ?? { toolCallId: "" };
      await act(async () => void chat.chat().addToolOutput({ tool: "take_photo", toolCallId, output: "by hand" }));
      await ended(chat, "Smile.");
      expect(chat.calls()[0]).toMatchObject({ output: "by hand" });
    });
  });

  it("a tool that asks only sometimes runs at once where it does not", async () => {
    const chat = open({ handlers: { beep: () => "beep" } });
    await chat.say("sometimes");
    await ended(chat, "Beep.");
    expect(chat.calls()[0]).toMatchObject({ state: "output-available", output: "beep" });
  });
});

it.each([
  ["ai-sdk", "/api/chat"],
  ["ai-sdk", "/stream"],
  ["sse", "/stream"],
] as const)("%s asks %s to wait for results in the stream", async (mode, path) => {
  const waits: (string | null)[] = [];
  const spy: typeof fetch = async (input, init) => {
    const { pathname } = new URL(String(input));
    if (pathname.endsWith(path) && pathname.startsWith("/api/chat"))
      waits.push(new Headers(init?.headers).get("x-holdpoint-wait"));
    return fetch(input, init);
  };
  const chat = renderChat(mode, { baseUrl: server.url, fetch: spy });
  await chat.say("hello");
  await until("a request", () => waits.length > 0);
  expect(new Set(waits)).toEqual(new Set(["stream"]));
});

it.skipIf(!modes.includes("ai-sdk-ws"))("ai-sdk-ws asks to wait for results in the stream", async () => {
  const urls: string[] = [];
  class Spy extends WebSocket {
    constructor(url: string) {
      super(url);
      urls.push(url);
    }
  }
  const chat = renderChat("ai-sdk-ws", { baseUrl: server.url, webSocket: Spy as never });
  await chat.say("hello");
  await until("a connection", () => urls.length > 0);
  expect(new URL(urls[0] ?? "").searchParams.get("wait")).toBe("stream");
});
