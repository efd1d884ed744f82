import { describe, expect, it } from "vitest";
import { Backoff } from "../src/server/backoff.js";
import { readEventStream } from "../src/server/read-event-stream.js";
import { Server } from "../src/server/server.js";
import { readLiveRecord } from "../src/transport/live-record.js";

describe("readEventStream", () => {
  const bytes = new TextEncoder().encode(': ping\n\ndata: {"a":"ü"}\r\n\r\nevent: x\ndata:1\ndata: 2\n\ndata: lost');

  it.each(Array.from(bytes.keys()))("gives the same events, split at byte %i", async (at) => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytes.slice(0, at));
        controller.enqueue(bytes.slice(at));
        controller.close();
      },
    });
    const events: string[] = [];
    for await (const event of readEventStream(body)) events.push(event);
    expect(events).toEqual(['{"a":"ü"}', "1\n2"]);
  });
});

describe("readLiveRecord", () => {
  it("reads records and pongs, and leaves alone what it does not know", () => {
    expect(readLiveRecord('data: {"type":"start-step"}\n\n')).toEqual({ kind: "chunk", chunk: { type: "start-step" } });
    expect(readLiveRecord("data: [DONE]\n\n")).toEqual({ kind: "done" });
    expect(readLiveRecord('{"type":"pong","timestamp":7}')).toEqual({ kind: "pong", timestamp: 7 });
    for (const text of ["", "data: {", "null", "[]", '{"kind":1}'])
      expect(readLiveRecord(text)).toEqual({ kind: "unknown" });
  });
});

describe("Backoff", () => {
  it("grows to its limit, and begins again after a success", () => {
    const backoff = new Backoff(100, 1_000);
    const pauses = Array.from({ length: 10 }, () => backoff.next());
    for (const [i, pause] of pauses.entries()) {
      const full = Math.min(1_000, 100 * 2 ** i);
      expect(pause).toBeGreaterThanOrEqual(full / 2);
      expect(pause).toBeLessThanOrEqual(full);
    }
    backoff.reset();
    expect(backoff.next()).toBeLessThanOrEqual(100);
  });
});

describe("Server", () => {
  it("makes addresses, with and without a slash at the end", () => {
    expect(new Server({ baseUrl: "https://a.example/app/" }).url("/api/tools")).toBe("https://a.example/app/api/tools");
    expect(new Server({}).url("/api/tools")).toBe("/api/tools");
    expect(new Server({ baseUrl: "https://a.example" }).socketUrl("/live").href).toBe("wss://a.example/live");
    expect(new Server({ baseUrl: "http://a.example" }).socketUrl("/live").href).toBe("ws://a.example/live");
  });

  it("says why it was refused", async () => {
    const refusing = (body: string) =>
      new Server({ fetch: async () => new Response(body, { status: 409 }) }).request("/x");
    await expect(refusing('{"ok":false,"reason":"expired"}')).rejects.toMatchObject({ status: 409, reason: "expired" });
    await expect(refusing("plain words")).rejects.toThrow("plain words");
  });
});
