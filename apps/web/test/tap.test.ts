import { describe, expect, it, vi } from "vitest";
import { Recorder } from "../src/inspector/recorder";
import { tapFetch } from "../src/inspector/tapFetch";

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
    expect(recording.entries.map(({ kind }) => kind)).toEqual(["chunk", "comment", "done"]);
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
    expect(recording).toEqual({ entries: [], segments: [] });
  });
});
