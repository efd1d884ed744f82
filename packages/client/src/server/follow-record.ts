import type { ServerEvent } from "../protocol.js";
import { watchEvents } from "./events.js";
import { asHoldpointError, type HoldpointError, requestFailure } from "./holdpoint-error.js";
import { retryUntilResponse } from "./retry-until-response.js";
import type { Server } from "./server.js";

/** What to follow, and whom to tell. */
export type RecordListener<T> = {
  read: (signal: AbortSignal) => Promise<T>;
  /** Whether an event says that it may have changed. `ready` and `missed` always do. */
  isTouchedBy: (event: ServerEvent) => boolean;
  onValue: (value: T) => void;
  onConnection?: ((isConnected: boolean) => void) | undefined;
  /** Something failed. It is retried: at once, or with the next event if the server refused. */
  onError?: ((error: HoldpointError) => void) | undefined;
};

/**
 * Reads something from the server whenever an event says that it may have changed, across reconnects, until it is
 * stopped.
 */
export function followRecord<T>(
  server: Server,
  listener: RecordListener<T>,
): { refresh: () => void; stop: () => void } {
  const abort = new AbortController();
  let isReading = false;
  let isStale = false;
  const onError = (error: HoldpointError) => {
    if (!abort.signal.aborted) listener.onError?.(error);
  };
  // One read at a time: any number of changes during a read cause exactly one more.
  const refresh = async () => {
    isStale = true;
    if (isReading) return;
    isReading = true;
    while (isStale && !abort.signal.aborted) {
      isStale = false;
      try {
        const value = await retryUntilResponse(server, listener.read, { signal: abort.signal, onRetry: onError });
        if (!abort.signal.aborted) listener.onValue(value);
      } catch (error) {
        onError(asHoldpointError(requestFailure(error), "unreachable"));
      }
    }
    isReading = false;
  };
  const stopEvents = watchEvents(server.options, {
    onConnection: listener.onConnection,
    onError,
    onEvent: (event) => {
      if (event.type === "ready" || event.type === "missed" || listener.isTouchedBy(event)) void refresh();
    },
  });
  return {
    refresh: () => void refresh(),
    stop: () => {
      abort.abort();
      stopEvents();
    },
  };
}
