/** The subset of a WebSocket that the transport uses. The browser's and that of the `ws` package both fit. */
export interface SocketLike {
  send(data: string): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: "open" | "error", listener: () => void): void;
  addEventListener(type: "message", listener: (event: { data: unknown }) => void): void;
  addEventListener(type: "close", listener: (event: { code: number; reason: string }) => void): void;
}

/** A WebSocket class. */
export type SocketClass = new (url: string) => SocketLike;
