import { watchEvents } from "./events.js";
import { reachabilityOf, type ServerStatus } from "./reachability.js";
import type { ServerOptions } from "./server-options.js";

/**
 * Reports whether the server responds: at once, and on every change, until the returned function is called. It also
 * follows the events, so that an outage is noticed without any request.
 */
export function watchServer(options: ServerOptions, listener: (status: ServerStatus) => void): () => void {
  const reachability = reachabilityOf(options);
  const unsubscribe = reachability.subscribe(() => listener(reachability.getStatus()));
  listener(reachability.getStatus());
  const stopEvents = watchEvents({ ...options, onEvent: () => {} });
  return () => {
    unsubscribe();
    stopEvents();
  };
}
