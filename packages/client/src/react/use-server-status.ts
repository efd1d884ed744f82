import { useEffect, useSyncExternalStore } from "react";
import type { ClientOrOptions } from "../server/holdpoint.js";
import { reachabilityOf, type ServerStatus } from "../server/reachability.js";
import { useClient } from "./use-client.js";

/** Whether the server responds, and since when. An outage is noticed without any request. */
export function useServerStatus(options: ClientOrOptions = {}): ServerStatus {
  const client = useClient(options);
  const { subscribe, getStatus } = reachabilityOf(client.options);
  useEffect(() => client.watchServer(() => {}), [client]);
  return useSyncExternalStore(subscribe, getStatus, getStatus);
}
