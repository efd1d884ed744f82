import { createParser } from "eventsource-parser";
import type { Mode } from "../modes";
import type { Recorder } from "./recorder";

/** Responses of these paths are chunks of a turn; nothing else is recorded. */
const STREAMS = /^\/(stream|api\/chat|api\/chat\/[^/]+\/stream)$/;

/** A `fetch` that records the bytes before anything interprets them. */
export function tapFetch(inner: typeof fetch, recorder: Recorder, mode: Mode): typeof fetch {
  return async (input, init) => {
    const { method, path } = describe(input, init);
    if (!STREAMS.test(path)) return inner(input, init);
    const startedSegment = method === "GET" ? undefined : recorder.begin(mode, `${method} ${path}`);
    const response = await inner(input, init);
    // A resume with status 204 is not a segment: nothing is running.
    if (!response.ok || response.body === null || response.status === 204) return response;
    // Resume is the SDK's own endpoint, even for a chat over /stream.
    const segment = startedSegment ?? recorder.begin("ai-sdk", `${method} ${path} (replay)`);
    let isWhole = false;
    if (method === "GET") {
      // The replay was abandoned: half a response would look broken.
      init?.signal?.addEventListener("abort", () => {
        if (!isWhole) recorder.drop(segment);
      });
    }
    const decoder = new TextDecoder();
    const parser = createParser({
      onEvent: ({ data }) => {
        isWhole ||= data === "[DONE]";
        recorder.payload(segment, data);
      },
      onComment: (comment) => recorder.comment(segment, comment),
    });
    const tap = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(bytes, controller) {
        parser.feed(decoder.decode(bytes, { stream: true }));
        controller.enqueue(bytes);
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(tap), { status, statusText, headers });
  };
}

function describe(input: RequestInfo | URL, init: RequestInit | undefined): { method: string; path: string } {
  const url = input instanceof Request ? input.url : input.toString();
  const method = init?.method ?? (input instanceof Request ? input.method : "GET");
  return { method: method.toUpperCase(), path: new URL(url, location.href).pathname };
}
