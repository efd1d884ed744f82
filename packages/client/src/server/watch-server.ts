import { watchEvents } from "./events.js";
import { reachabilityOf, type ServerStatus } from "./reachability.js";
import type { ServerOptions } from "./server-options.js";

/**
 * Tells whether the server answers: at once, and at every change, until the returned function is called. It follows the events too, so
 * that a server is missed although nothing is asked of it.
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
