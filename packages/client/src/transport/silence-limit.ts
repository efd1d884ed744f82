import { HoldpointError } from "../server/holdpoint-error.js";
import { SILENCE_REASON, watchSilence } from "../server/silence.js";

/**
 * Fails an open response that is silent for too long. Some proxies leave it open although the server is gone, and the
 * turn would look as if it were running for ever.
 */
export function withSilenceLimit(request: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await request(input, init);
    const { body, status, statusText, headers } = response;
    if (body === null || !headers.get("content-type")?.startsWith("text/event-stream")) return response;
    return new Response(limited(body), { status, statusText, headers });
  };
}

function limited(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      let stop = () => {};
      const silence = new Promise<never>((_, reject) => {
        stop = watchSilence(() => reject(new HoldpointError("connection-lost", SILENCE_REASON))).stop;
      });
      try {
        const { done, value } = await Promise.race([reader.read(), silence]);
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        controller.error(error);
        await reader.cancel(error).catch(() => {});
      } finally {
        stop();
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
