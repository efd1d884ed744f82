import { createParser } from "eventsource-parser";
import type { Mode } from "../modes";
import { describe } from "./describe";
import type { Recorder } from "./recorder";

/** Responses of these paths are chunks of a turn; no other response is recorded. */
const STREAMS = /^\/(stream|api\/chat|api\/chat\/[^/]+\/stream)$/;

/** A `fetch` that records what is sent, and the bytes of a turn before anything interprets them. */
export function tapFetch(inner: typeof fetch, recorder: Recorder, mode: Mode): typeof fetch {
  return async (input, init) => {
    const { method, path, sent } = describe(input, init);
    const isStream = STREAMS.test(path);
    // Reads of the server's record are not part of the conversation, except for a resume that finds something.
    const startedSegment = isStream && method !== "GET" ? recorder.begin(mode, `${method} ${path}`) : undefined;
    if (method !== "GET") recorder.request(sent, startedSegment);
    if (!isStream) return inner(input, init);
    const response = await inner(input, init);
    // A resume with status 204 is not a segment: nothing is running.
    if (!response.ok || response.body === null || response.status === 204) return response;
    // Resume is the SDK's own endpoint, even for a chat over /stream.
    const segment = startedSegment ?? recorder.begin("ai-sdk", `${method} ${path} (replay)`);
    if (method === "GET") recorder.request(sent, segment);
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
