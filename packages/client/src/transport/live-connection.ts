/** How the live connection is. */
export type LiveConnection = {
  /** `idle`: not needed so far; `reconnecting`: lost, and tried again; `closed`: by this side. */
  state: "idle" | "connecting" | "open" | "reconnecting" | "closed";
  /** The last round trip, in milliseconds. */
  rttMs: number | undefined;
};
