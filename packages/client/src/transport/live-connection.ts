/** The state of the live connection. */
export type LiveConnection = {
  /** `idle`: not needed so far; `reconnecting`: lost, being retried; `closed`: by this side. */
  state: "idle" | "connecting" | "open" | "reconnecting" | "closed";
  /** The last round trip, in milliseconds. */
  rttMs: number | undefined;
};
