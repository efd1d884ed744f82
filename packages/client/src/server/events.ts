import type { ServerEvent } from "../protocol.js";
import { EventStream } from "./event-stream.js";
import type { HoldpointError } from "./holdpoint-error.js";
import type { HoldpointOptions } from "./options.js";
import { perServer } from "./per-server.js";
import { reachabilityOf } from "./reachability.js";

/** Callbacks for the server's events. */
export type EventsListener = {
  onEvent: (event: ServerEvent) => void;
  /** Whether events are being received. */
  onConnection?: ((isConnected: boolean) => void) | undefined;
  /** Something failed. It is retried. */
  onError?: ((error: HoldpointError) => void) | undefined;
};

/** A source of the server's events, such as one connection shared by all tabs. */
export type EventsSource = {
  /**
   * Passes on every event from now on, until the returned function is called. A source that tracks its connection
   * reports it at once and on every change; one that never reports counts as connected.
   */
  subscribe: (listener: (event: ServerEvent) => void, onConnection?: (isConnected: boolean) => void) => () => void;
};

const eventStreamOf = perServer((options) => new EventStream(options));

/**
 * Follows `GET /api/events` until the returned function is called. All tabs of the browser share one connection per
 * server and key, which reconnects with backoff.
 */
export function watchEvents(options: HoldpointOptions, { onEvent, onConnection, onError }: EventsListener): () => void {
  if (typeof options.events !== "object") {
    return eventStreamOf(options).subscribe({ onEvent, onConnection, onError });
  }
  let isKnown = false;
  const stop = options.events.subscribe(onEvent, (isConnected) => {
    isKnown = true;
    if (isConnected) reachabilityOf(options).answered();
    else reachabilityOf(options).suspect();
    onConnection?.(isConnected);
  });
  if (!isKnown) onConnection?.(true);
  // The source may have been connected for long: no event is missed from here on.
  onEvent({ type: "ready" });
  return stop;
}
