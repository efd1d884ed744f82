import { useEffect, useSyncExternalStore } from "react";
import { reachabilityOf, type ServerStatus } from "../server/reachability.js";
import type { ServerOptions } from "../server/server-options.js";
import { watchServer } from "../server/watch-server.js";
import { useServerOptions } from "./use-server-options.js";

/** Whether the server responds, and since when. An outage is noticed without any request. */
export function useServerStatus(options: ServerOptions = {}): ServerStatus {
  const server = useServerOptions(options);
  const { subscribe, getStatus } = reachabilityOf(server);
  useEffect(() => watchServer(server, () => {}), [server]);
  return useSyncExternalStore(subscribe, getStatus, getStatus);
}
