import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { binary } from "../../../tests/support/server.mjs";
import type { LiveChatTransportOptions, LiveConnection } from "../src/index.js";
import { shown } from "./support/chat.js";
import { elsewhere } from "./support/elsewhere.js";
import { openLive } from "./support/live.js";
import { startProxy } from "./support/proxy.js";
import { startServer, type TestServer } from "./support/server.js";
import { until } from "./support/until.js";

let server: TestServer;
const cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

function open(options: Partial<LiveChatTransportOptions> = {}) {
  const live = openLive({ ...options, baseUrl: options.baseUrl ?? server.url });
  cleanups.push(() => live.transport.close());
  return live;
}

async function proxied(options: Partial<LiveChatTransportOptions> = {}) {
  const proxy = await startProxy(server.url);
  cleanups.push(proxy.stop);
  return { proxy, ...open({ ...options, baseUrl: proxy.url }) };
}

describe("a turn", () => {
  it("is ready at the approval request, and goes on with the answer in the same message", async () => {
    const { chat, answer, end, received } = open();
    await chat.sendMessage({ text: "send $50 to Hanako" });
    expect(chat.status).toBe("ready");
    await answer(true);
    await end();
    expect(chat.messages.map((message) => message.role)).toEqual(["user", "assistant"]);
    expect(shown(chat.lastMessage)).toEqual([
      "reasoning: I am asked to send 50 USD to Hanako.",
      "process_payment: output-available",
      "text: I sent 50 USD to Hanako (transaction TXN). Your wallet now holds 950 USD.",
    ]);
    const check = spawnSync(binary(), ["check", "--profile", "adk-live", "--text", "progressive", "-"], {
      input: received.join("\n"),
      encoding: "utf8",
    });
    expect({ said: check.stdout + check.stderr, status: check.status }).toEqual({ said: "", status: 0 });
  });

  it("whose answer crosses a decision made elsewhere is shown once", async () => {
    const { chat, approvalRequest, end } = open();
    await chat.sendMessage({ text: "send $50 to Hanako" });
    const id = await approvalRequest();
    expect(await elsewhere(server.url).decide(id, true)).toBe(200);
    await chat.addToolApprovalResponse({ id, approved: true });
    await end();
    expect(shown(chat.lastMessage)).toEqual([
      "reasoning: I am asked to send 50 USD to Hanako.",
      "process_payment: output-available",
      "text: I sent 50 USD to Hanako (transaction TXN). Your wallet now holds 950 USD.",
    ]);
  });

  it("is not disturbed by a notice about the connection", async () => {
    class Talkative extends WebSocket {
      constructor(...args: ConstructorParameters<typeof WebSocket>) {
        super(...args);
        this.on("open", () => this.send(JSON.stringify({ type: "audio_control" })));
        // While the turn is open.
        this.on("message", () => this.send(JSON.stringify({ type: "audio_chunk", chunk: "AAAA" })));
      }
    }
    const { chat, answer, end, received } = open({ webSocket: Talkative });
    await chat.sendMessage({ text: "send $50 to Hanako" });
    await answer(true);
    await end();
    expect(received.filter((chunk) => chunk.includes("data-holdpoint-notice"))).toHaveLength(2);
    expect(received.some((chunk) => chunk.includes('"error"'))).toBe(false);
    expect(shown(chat.lastMessage)[1]).toBe("process_payment: output-available");
  });

  it("goes on in the same chat with the next message", async () => {
    const { chat, answer, end } = open();
    await chat.sendMessage({ text: "what is the weather in Tokyo?" });
    await end();
    await chat.sendMessage({ text: "send $50 to Hanako" });
    await answer(false);
    await end();
    expect(chat.messages.map((message) => message.role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(shown(chat.messages[3])[1]).toBe("process_payment: output-error");
  });

  it("is superseded by a new message while it waits", async () => {
    const { chat, approvalRequest, end } = open();
    await chat.sendMessage({ text: "send $50 to Hanako" });
    await approvalRequest();
    await chat.sendMessage({ text: "what is the weather in Tokyo?" });
    await end();
    expect(shown(chat.lastMessage)).toContain("get_weather: output-available");
    expect(chat.error).toBeUndefined();
  });

  it("is shown when somebody else decides while nobody reads", async () => {
    const { chat, approvalRequest, end } = open();
    await chat.sendMessage({ text: "send $50 to Hanako" });
    expect(await elsewhere(server.url).decide(await approvalRequest(), false, "too much")).toBe(200);
    await end();
    expect(shown(chat.lastMessage)[1]).toBe("process_payment: output-error");
    expect(chat.messages).toHaveLength(2);
  });

  it("is interrupted: every open call gets its outcome, and the chat goes on", async () => {
    const { chat, transport, approvalRequest, end } = open();
    await chat.sendMessage({ text: "send $50 to Hanako" });
    await approvalRequest();
    transport.interrupt();
    await until("the outcome", () => chat.calls[0]?.state === "output-error" && chat.status === "ready");
    await chat.sendMessage({ text: "what is the weather in Tokyo?" });
    await end();
    expect(chat.messages).toHaveLength(4);
  });

  it("is stopped by an abort while it streams, and by nothing less", async () => {
    const script = { turns: [{ steps: [[{ text: ["one "] }, { waitMs: 60_000 }, { text: ["two"] }]] }] };
    const slow = await startServer({ script });
    cleanups.push(slow.stop);
    const proxy = await startProxy(slow.url);
    cleanups.push(proxy.stop);
    const { chat, transport, chatId } = open({ baseUrl: proxy.url });
    const isRunning = async () => {
      const list = (await (await fetch(`${slow.url}/api/chats`)).json()) as { id: string; isRunning: boolean }[];
      return list.find(({ id }) => id === chatId)?.isRunning;
    };
    void chat.sendMessage({ text: "go" });
    await until("the first word", () => shown(chat.lastMessage)[0] === "text: one ");
    transport.close();
    await until("the end of the stream", () => chat.status === "ready");
    expect(await isRunning()).toBe(true);
    void chat.resumeStream();
    await until("the stream again", () => chat.status === "streaming");
    // A second reader takes the place of the first: the SDK aborts that as it does for a stop.
    void chat.resumeStream();
    await until("the second reader", async () => chat.status === "streaming" && (await isRunning()));
    expect(proxy.sent.some((frame) => frame.includes("interrupt"))).toBe(false);
    await chat.stop();
    await until("the stop", async () => (await isRunning()) === false);
    expect(shown(chat.lastMessage)).toEqual(["text: one "]);
  });
});

describe("a lost connection", () => {
  type Play = (live: ReturnType<typeof openLive>) => Promise<unknown>;
  const flows: Record<string, Play> = {
    payment: async ({ chat, answer, end }) => {
      await chat.sendMessage({ text: "send $50 to Hanako" });
      await answer(true);
      await end();
    },
    "two payments": async ({ chat, answer, end }) => {
      await chat.sendMessage({ text: "send $30 to Alice and $40 to Bob" });
      await answer(true);
      await answer(false);
      await end();
    },
    weather: async ({ chat, end }) => {
      await chat.sendMessage({ text: "what is the weather in Tokyo?" });
      await end();
    },
    location: async ({ chat, approvalRequest, end }) => {
      await chat.sendMessage({ text: "where am I?" });
      void chat.addToolApprovalResponse({ id: await approvalRequest(), approved: true });
      const { toolCallId } = chat.calls[0] ?? { toolCallId: "" };
      void chat.addToolOutput({ tool: "get_location", toolCallId, output: { latitude: 1, longitude: 2, accuracy: 3 } });
      await end();
    },
  };
  const AT_ONCE = 6;

  const play = async (flow: Play, after: number, from: "server" | "client") => {
    const proxy = await startProxy(server.url, { after, from });
    const live = openLive({ baseUrl: proxy.url });
    try {
      await flow(live);
      return { shown: shown(live.chat.lastMessage), count: live.chat.messages.length, wasCut: proxy.connections() > 1 };
    } catch (error) {
      throw new Error(`cut at frame ${after} from the ${from}; shown: ${shown(live.chat.lastMessage).join(" | ")}`, {
        cause: error,
      });
    } finally {
      live.transport.close();
      await proxy.stop();
    }
  };

  describe.each(["server", "client"] as const)("from the %s", (from) => {
    it.each(Object.keys(flows))("at every frame: %s", async (name) => {
      const flow = flows[name] as Play;
      const whole = await play(flow, Number.POSITIVE_INFINITY, from);
      expect(whole).toMatchObject({ count: 2, wasCut: false });
      let cuts = 0;
      for (let first = 1; ; first += AT_ONCE) {
        const frames = Array.from({ length: AT_ONCE }, (_, i) => first + i);
        const played = await Promise.all(frames.map((after) => play(flow, after, from)));
        for (const [i, { shown: parts, count }] of played.entries()) {
          expect(parts, `cut at frame ${first + i}`).toEqual(whole.shown);
          expect(count).toBe(2);
        }
        cuts += played.filter(({ wasCut }) => wasCut).length;
        if (!played.every(({ wasCut }) => wasCut)) break;
      }
      // Every frame of the flow: a ping and a message at least, and from the server a chunk for every word.
      expect(cuts).toBeGreaterThan(from === "server" ? 15 : 2);
    }, 120_000);
  });

  it("while nobody reads: the connection is made again, and what was missed is shown", async () => {
    const { proxy, chat, approvalRequest, end } = await proxied();
    await chat.sendMessage({ text: "send $50 to Hanako" });
    const id = await approvalRequest();
    proxy.refuse(true);
    proxy.cut();
    expect(await elsewhere(server.url).decide(id, true)).toBe(200);
    await until("the end at the server", async () =>
      (await elsewhere(server.url).approvals()).every((approval) => approval.approvalId !== id),
    );
    expect(chat.approvalRequest).toBe(id);
    proxy.refuse(false);
    await end();
    expect(shown(chat.lastMessage)[1]).toBe("process_payment: output-available");
  });

  it("that does not come back is an error, and the chat is usable when it does", async () => {
    const { proxy, chat, end } = await proxied({ maxAttempts: 2 });
    proxy.refuse(true);
    await chat.sendMessage({ text: "what is the weather in Tokyo?" });
    expect(chat.status).toBe("error");
    expect(chat.error?.message).toMatch(/connection/);
    proxy.refuse(false);
    await chat.sendMessage({ text: "what is the weather in Osaka?" });
    await end();
  });
});

describe("a server that falls silent", () => {
  it("after an answer is an error within the limit, and what comes later is shown", async () => {
    const { proxy, chat, approvalRequest, end } = await proxied({ answerTimeoutMs: 300 });
    await chat.sendMessage({ text: "send $50 to Hanako" });
    const id = await approvalRequest();
    proxy.mute(true);
    await chat.addToolApprovalResponse({ id, approved: true });
    await until("the error", () => chat.status === "error");
    expect(chat.error?.message).toMatch(/has not responded for/);
    proxy.mute(false);
    proxy.cut();
    await end();
    expect(shown(chat.lastMessage)[1]).toBe("process_payment: output-available");
  });
});

describe("the connection", () => {
  it("tells its state and its round trip", async () => {
    const states: LiveConnection[] = [];
    const { chat, transport, end } = open({ onConnection: (connection) => states.push(connection) });
    expect(transport.connection.state).toBe("idle");
    await chat.sendMessage({ text: "what is the weather in Tokyo?" });
    await end();
    await until("a round trip", () => transport.connection.rttMs !== undefined);
    expect(transport.connection.rttMs).toBeGreaterThan(0);
    transport.close();
    expect(new Set(states.map(({ state }) => state))).toEqual(new Set(["connecting", "open", "closed"]));
  });

  it("asks for a ticket where there is a key, one for every connection", async () => {
    const key = "a-key-for-tests";
    const hash = createHash("sha256").update(key).digest("hex");
    const locked = await startServer({
      config: `[[auth.keys]]\nkey_sha256 = "${hash}"\nsubject = "alice"\n`,
    });
    cleanups.push(locked.stop);
    const proxy = await startProxy(locked.url);
    cleanups.push(proxy.stop);
    const { chat, approvalRequest, answer, end } = open({ baseUrl: proxy.url, apiKey: key });
    await chat.sendMessage({ text: "send $50 to Hanako" });
    await approvalRequest();
    proxy.cut();
    await answer(true);
    await end();
    expect(proxy.connections()).toBeGreaterThan(1);

    const stranger = open({ baseUrl: locked.url, apiKey: "wrong" });
    await stranger.chat.sendMessage({ text: "hello" });
    expect(stranger.chat.error?.message).toMatch(/401/);
  });
});
