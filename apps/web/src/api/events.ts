import { type ServerEvent, watchEvents } from "holdpoint";
import { apiFetch } from "./http";
import { keyStore } from "./key";

/** Subscribes to changes of chats and approvals. Every `ready` means that data read earlier may be outdated. */
export function subscribeToEvents(
  onEvent: (event: ServerEvent) => void,
  onConnection?: (isConnected: boolean) => void,
): () => void {
  const watch = () =>
    watchEvents({ apiKey: keyStore.read().key, fetch: apiFetch, events: "browser", onEvent, onConnection });
  let stop = watch();
  let { generation } = keyStore.read();
  // A new key is a new subject, with other chats.
  const unfollow = keyStore.subscribe(() => {
    if (keyStore.read().generation === generation) return;
    generation = keyStore.read().generation;
    stop();
    stop = watch();
  });
  return () => {
    unfollow();
    stop();
  };
}

/** The event source for the client's hooks: their own `fetch` is recorded, and the events are not part of a chat. */
export const eventsSource = { subscribe: subscribeToEvents };
