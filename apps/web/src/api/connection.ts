import { type ServerStatus, watchServer } from "holdpoint";
import { createStore, useStore } from "../store";
import { eventsSource } from "./events";
import { apiFetch } from "./http";

/** Whether the server responds, and since when. */
export const connectionStore = createStore<ServerStatus>({ state: "connecting", since: new Date() });

/** Follows the connection until the returned function is called. */
export function watchConnection(key: string | undefined): () => void {
  return watchServer({ apiKey: key, fetch: apiFetch, events: eventsSource }, (status) => {
    connectionStore.write(status);
  });
}

export function useServerStatus(): ServerStatus {
  return useStore(connectionStore);
}

/** Whether the data shown can be current. */
export function useIsCurrent(): boolean {
  return useServerStatus().state !== "unreachable";
}
