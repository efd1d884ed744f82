import { describe, expect, it, vi } from "vitest";
import { setKey } from "../src/api/key";
import { Recorder } from "../src/inspector/recorder";
import { tapFetch } from "../src/inspector/tapFetch";

vi.hoisted(() => {
  // Read when the key's module is loaded.
  Object.assign(globalThis, { sessionStorage: { getItem: () => null, setItem: () => undefined } });
});
vi.stubGlobal("location", { href: "http://localhost/" });

const BODY = 'data: {"type":"start"}\n\n: ping\n\ndata: [DONE]\n\n';

async function recordingAfter(use: (fetch: typeof globalThis.fetch) => Promise<void>, body = BODY, status = 200) {
  const recorder = new Recorder();
  const inner = async () => new Response(status === 204 ? null : body, { status });
  await use(tapFetch(inner, recorder, "sse"));
  const changed = new Promise<void>((resolve) => recorder.subscribe(resolve));
  await Promise.race([changed, new Promise((resolve) => setTimeout(resolve, 50))]);
  return recorder.read();
}

describe("tapFetch", () => {
  it("records what passes, and changes nothing", async () => {
    const recording = await recordingAfter(async (fetch) => {
      const response = await fetch("/stream", { method: "POST" });
      expect(await response.text()).toBe(BODY);
    });
    expect(recording.segments).toMatchObject([{ number: 1, label: "POST /stream" }]);
    expect(recording.entries.map(({ kind }) => kind)).toEqual(["request", "chunk", "comment", "done"]);
  });

  it("leaves other requests alone", async () => {
    const recording = await recordingAfter(async (fetch) => void (await (await fetch("/api/chats")).text()));
    expect(recording.segments).toEqual([]);
  });

  it("does not take a resume that finds nothing for a response", async () => {
    const recording = await recordingAfter(async (fetch) => void (await fetch("/api/chat/c/stream")), "", 204);
    expect(recording.segments).toEqual([]);
  });

  it("forgets a replay that was given up", async () => {
    const recording = await recordingAfter(async (fetch) => {
      const abort = new AbortController();
      const response = await fetch("/api/chat/c/stream", { signal: abort.signal });
      const reader = response.body?.getReader();
      await reader?.read();
      abort.abort();
    }, 'data: {"type":"start"}\n\n');
    expect(recording).toEqual({ entries: [], segments: [], dropped: 0 });
  });

  it("records what is sent, with its body, and nothing that is secret", async () => {
    setKey("secret-key-1");
    const recording = await recordingAfter(async (fetch) => {
      const headers = {
        authorization: "Bearer secret-key-1",
        cookie: "a=b",
        "X-Holdpoint-Wait": "stream",
        "x-own": "s",
      };
      const body = JSON.stringify({ approved: true, reason: "my key is secret-key-1" });
      await fetch("/api/approvals/a?ticket=t-1&limit=2", { method: "POST", headers, body });
      await fetch("/api/chat/c/holds");
    });
    expect(recording.segments).toEqual([]);
    expect(recording.entries).toMatchObject([
      {
        kind: "request",
        label: "POST /api/approvals/a?ticket=•••&limit=2",
        headers: { authorization: "•••", cookie: "•••", "x-holdpoint-wait": "stream", "x-own": "•••" },
        text: '{"approved":true,"reason":"my key is •••"}',
      },
    ]);
    expect(JSON.stringify(recording)).not.toMatch(/secret-key-1|t-1|a=b/);
  });
});

describe("tapWebSocket", () => {
  it("records the connection and what is sent over it, without its ticket and without pings", async () => {
    const frames: unknown[] = [];
    class FakeSocket extends EventTarget {
      constructor(readonly url: string) {
        super();
      }
      send(data: unknown) {
        frames.push(data);
      }
    }
    vi.stubGlobal("WebSocket", FakeSocket);
    const { tapWebSocket } = await import("../src/inspector/tapWebSocket");
    setKey("secret-key-2");
    const recorder = new Recorder();
    const Socket = tapWebSocket(recorder, "live");
    const socket = new Socket("ws://localhost/live?chatId=c&ticket=t-2");
    const sent = ['{"type":"ping","timestamp":1}', '{"type":"message","text":"secret-key-2"}'];
    for (const frame of sent) socket.send(frame);
    socket.dispatchEvent(new MessageEvent("message", { data: 'data: {"type":"start"}\n\n' }));
    const { entries } = recorder.current();
    expect(frames).toEqual(sent);
    expect(entries.map((entry) => (entry.kind === "request" ? [entry.label, entry.text] : entry.kind))).toEqual([
      ["WebSocket /live?chatId=c&ticket=•••", ""],
      ["/live message", '{"type":"message","text":"•••"}'],
      "chunk",
    ]);
    expect(new Set(entries.map(({ segment }) => segment))).toEqual(new Set([1]));
    expect(JSON.stringify(entries)).not.toMatch(/secret-key-2|t-2/);
  });
});
