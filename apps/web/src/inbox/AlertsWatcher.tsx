import { lazily } from "../shell/part";
import { useStore } from "../store";
import { alertsStore } from "./alerts";

const NewRequests = lazily(async () => (await import("./NewRequests")).NewRequests);

/** Announces new requests by the system and by a sound, where they are switched on. */
export function AlertsWatcher() {
  const { isNotifying, isSounding } = useStore(alertsStore);
  return isNotifying || isSounding ? <NewRequests /> : null;
}
