import type { ChatId } from "../protocol.js";
import { Backoff } from "./backoff.js";
import { readEventStream } from "./read-event-stream.js";
import { Server } from "./server.js";
import type { ServerOptions } from "./server-options.js";

/** What `GET /api/events` tells: that something changed, not what. */
export type ServerEvent =
  /** From here on nothing is missed: read now what you want to follow. Comes again after a lost connection. */
  | { type: "ready" }
  /** Too many changes at once: read again what you follow. */
  | { type: "missed" }
  /** A chat changed. */
  | { type: "chat"; chatId: ChatId }
  /** The open approvals of a chat changed. */
  | { type: "approvals"; chatId: ChatId };

/** Who listens to the server's events. */
export type EventsListener = {
  onEvent: (event: ServerEvent) => void;
  onConnection?: ((isConnected: boolean) => void) | undefined;
  onError?: ((error: Error) => void) | undefined;
};

/** Somewhere that the server's events come from, such as one connection for all tabs. */
export type EventsSource = {
  /** Passes on every event from now on, until the returned function is called. */
  subscribe: (listener: (event: ServerEvent) => void) => () => void;
};

/** Follows `GET /api/events` until the returned function is called. A lost connection is made anew, with growing pauses. */
export function watchEvents({
  onEvent,
  onConnection,
  onError,
  ...options
}: ServerOptions & EventsListener): () => void {
  if (options.events !== undefined) {
    const stop = options.events.subscribe(onEvent);
    // It may have been connected long before: from here on nothing is missed.
    onConnection?.(true);
    onEvent({ type: "ready" });
    return stop;
  }
  const abort = new AbortController();
  const backoff = new Backoff();
  const follow = async () => {
    while (!abort.signal.aborted) {
      try {
        const response = await new Server(options).request("/api/events", { signal: abort.signal });
        if (response.body === null) throw new Error("The server's list of changes came without a body.");
        for await (const data of readEventStream(response.body)) {
          const event = JSON.parse(data) as ServerEvent;
          if (event.type === "ready") {
            backoff.reset();
            onConnection?.(true);
          }
          onEvent(event);
        }
      } catch (error) {
        if (!abort.signal.aborted) onError?.(error instanceof Error ? error : new Error(String(error)));
      }
      if (abort.signal.aborted) return;
      onConnection?.(false);
      await backoff.pause(abort.signal);
    }
  };
  void follow();
  return () => abort.abort();
}
