import type { HoldpointError } from "../server/holdpoint-error.js";

/** The state of the live connection. */
export type LiveConnection = {
  /** `idle`: not needed so far; `reconnecting`: lost, being retried; `closed`: by this side. */
  state: "idle" | "connecting" | "open" | "reconnecting" | "closed";
  /** The last round trip, in milliseconds. */
  rttMs: number | undefined;
  /** Why the last attempt failed, until one succeeds. The attempts continue unless the state is `closed`. */
  error?: HoldpointError | undefined;
};
