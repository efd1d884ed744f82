import { keyStore } from "../api/key";
import type { Mode } from "../modes";
import { parseJson as parse } from "./entry";
import { maskKey, maskUrl } from "./mask";
import type { Recorder, Sent } from "./recorder";

/** A `WebSocket` that records a chat's connection and its frames in both directions, without pings and pongs. */
export function tapWebSocket(recorder: Recorder, mode: Mode): typeof WebSocket {
  return class TappedWebSocket extends WebSocket {
    private readonly tap = this.url.includes("/api/chat/ws") ? new SdkTap(recorder, mode) : new LiveTap(recorder, mode);

    constructor(url: string | URL, protocols?: string | string[]) {
      super(url, protocols);
      recorder.request({ label: `WebSocket ${maskUrl(new URL(this.url), keyStore.read().key)}`, text: "" });
      // Registered first, so that a chunk is recorded before anything acts on it.
      this.addEventListener("message", ({ data }) => {
        if (typeof data === "string") this.tap.received(data);
      });
    }

    override send(data: string | ArrayBufferLike | Blob | ArrayBufferView<ArrayBuffer>): void {
      if (typeof data === "string") this.tap.sent(data);
      super.send(data);
    }
  };
}

interface Tap {
  sent(text: string): void;
  received(text: string): void;
}

/**
 * `/live`: every frame is an SSE record. A segment lasts from `start` to `[DONE]`, however many frames the client sends
 * meanwhile.
 */
class LiveTap implements Tap {
  private segment: number | undefined;

  constructor(
    private readonly recorder: Recorder,
    private readonly mode: Mode,
  ) {}

  sent(text: string): void {
    const type = field(parse(text), "type");
    if (type === "ping") return;
    if (type === "message") this.segment ??= this.recorder.begin(this.mode, "/live message");
    this.recorder.request(sentFrame("/live", type, text), this.segment);
  }

  received(text: string): void {
    for (const line of text.split("\n")) {
      if (line.startsWith(":")) this.recorder.comment(this.open(), line.slice(1).trim());
      if (!line.startsWith("data:")) continue;
      const payload = line.slice(5).trim();
      this.recorder.payload(this.open(), payload);
      if (payload === "[DONE]") this.segment = undefined;
    }
  }

  private open(): number {
    this.segment ??= this.recorder.begin(this.mode, "/live (replay)");
    return this.segment;
  }
}

/** `/api/chat/ws`: many requests on one connection, each with its own sequence of chunks. */
class SdkTap implements Tap {
  private readonly segments = new Map<string, number>();
  private readonly resumes = new Set<string>();

  constructor(
    private readonly recorder: Recorder,
    private readonly mode: Mode,
  ) {}

  sent(text: string): void {
    const frame = parse(text);
    const requestId = field(frame, "requestId");
    const type = field(frame, "type");
    if (requestId !== undefined && type === "send")
      this.segments.set(requestId, this.recorder.begin(this.mode, "/api/chat/ws send"));
    if (requestId !== undefined && type === "resume") this.resumes.add(requestId);
    this.recorder.request(sentFrame("/api/chat/ws", type, text), this.segments.get(requestId ?? ""));
  }

  received(text: string): void {
    const frame = parse(text);
    const requestId = field(frame, "requestId");
    if (requestId === undefined || typeof frame !== "object" || frame === null) return;
    switch (field(frame, "type")) {
      case "start":
        // Only now is it known that there is something to resume.
        if (this.resumes.delete(requestId)) {
          this.segments.set(requestId, this.recorder.begin(this.mode, "/api/chat/ws resume (replay)"));
        }
        break;
      case "chunk":
        if ("chunk" in frame) this.payload(requestId, JSON.stringify(frame.chunk));
        break;
      case "end":
        this.payload(requestId, "[DONE]");
        this.segments.delete(requestId);
        break;
      default:
        break;
    }
  }

  private payload(requestId: string, text: string): void {
    const segment = this.segments.get(requestId);
    if (segment !== undefined) this.recorder.payload(segment, text);
  }
}

function sentFrame(path: string, type: string | undefined, text: string): Sent {
  return { label: `${path} ${type ?? "frame"}`, text: maskKey(text, keyStore.read().key) };
}

function field(value: unknown, name: string): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const found: unknown = Reflect.get(value, name);
  return typeof found === "string" ? found : undefined;
}
