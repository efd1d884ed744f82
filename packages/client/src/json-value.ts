declare global {
  /** The generated types (protocol.ts) name it without declaring it. */
  type JsonValue = unknown;
}

export type {};
