import type { ChatId } from "../protocol.js";
import { EventStream } from "./event-stream.js";
import { perServer } from "./per-server.js";
import { reachabilityOf } from "./reachability.js";
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
  /** Whether changes are being told. */
  onConnection?: ((isConnected: boolean) => void) | undefined;
  /** Something failed; it is tried again. */
  onError?: ((error: Error) => void) | undefined;
};

/** Somewhere that the server's events come from, such as one connection for all tabs. */
export type EventsSource = {
  /**
   * Passes on every event from now on, until the returned function is called. A source that knows whether it is connected says so at
   * every change, and at once; one that never does counts as connected.
   */
  subscribe: (listener: (event: ServerEvent) => void, onConnection?: (isConnected: boolean) => void) => () => void;
};

const eventStreamOf = perServer((options) => new EventStream(options));

/**
 * Follows `GET /api/events` until the returned function is called. A page has one connection for each server, however many follow it;
 * a lost one is made anew, with growing pauses.
 */
export function watchEvents({
  onEvent,
  onConnection,
  onError,
  ...options
}: ServerOptions & EventsListener): () => void {
  if (options.events === undefined) return eventStreamOf(options).subscribe({ onEvent, onConnection, onError });
  let isKnown = false;
  const stop = options.events.subscribe(onEvent, (isConnected) => {
    isKnown = true;
    if (isConnected) reachabilityOf(options).answered();
    else reachabilityOf(options).suspect();
    onConnection?.(isConnected);
  });
  if (!isKnown) onConnection?.(true);
  // It may have been connected long before: from here on nothing is missed.
  onEvent({ type: "ready" });
  return stop;
}
