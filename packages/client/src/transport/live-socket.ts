import type { ChatId } from "../protocol.js";
import { Backoff } from "../server/backoff.js";
import { asHoldpointError, HoldpointError, isRetryable } from "../server/holdpoint-error.js";
import type { HoldpointOptions } from "../server/options.js";
import { Server } from "../server/server.js";
import type { LiveConnection } from "./live-connection.js";
import { type LiveRecord, readLiveRecord } from "./live-record.js";
import type { SocketClass, SocketLike } from "./socket-like.js";

/** Options of a {@link LiveSocket}. */
export type LiveSocketOptions = HoldpointOptions & {
  chatId: ChatId;
  text: "progressive" | "held";
  webSocket: SocketClass | undefined;
  maxAttempts: number;
  pingIntervalMs: number;
  onOpen: () => void;
  onRecord: (record: LiveRecord) => void;
  /**
   * Connecting failed: too many attempts failed in a row, or the server refused. In the first case the attempts
   * continue.
   */
  onFailure: (error: HoldpointError) => void;
  onConnection: (connection: LiveConnection) => void;
};

/** The close code of a permanent refusal. */
const REFUSED = 1008;
/** Time limit for opening a connection, and for the response to a ping. */
const TIMEOUT_MS = 10_000;

/** A WebSocket to `/live` that reconnects when it breaks. */
export class LiveSocket {
  readonly #options: LiveSocketOptions;
  readonly #server: Server;
  readonly #backoff = new Backoff();
  /** Aborted and replaced when this side closes. */
  #abort: AbortController | undefined;
  #socket: SocketLike | undefined;
  #connection: LiveConnection = { state: "idle", rttMs: undefined };
  #barriers = new Map<number, () => void>();
  #pings = 0;
  #pinged = new Map<number, number>();

  constructor(options: LiveSocketOptions) {
    this.#options = options;
    this.#server = new Server(options);
  }

  get connection(): LiveConnection {
    return this.#connection;
  }

  get isOpen(): boolean {
    return this.#connection.state === "open";
  }

  /** Connects, unless connected or connecting. */
  open(): void {
    if (this.#abort !== undefined) return;
    const abort = new AbortController();
    this.#abort = abort;
    void this.#keepConnected(abort.signal);
  }

  /** Sends a frame if connected. Returns whether it did. */
  send(frame: object): boolean {
    if (!this.isOpen) return false;
    this.#socket?.send(JSON.stringify(frame));
    return true;
  }

  /**
   * Calls back once the server has answered a ping: everything it sent before has arrived by then. Dropped with the
   * connection.
   */
  barrier(then: () => void): void {
    const ping = this.#ping();
    if (ping !== undefined) this.#barriers.set(ping, then);
  }

  close(): void {
    // Closes the socket too, whatever its state.
    this.#abort?.abort();
    this.#abort = undefined;
    this.#set({ state: "closed", rttMs: undefined });
  }

  async #keepConnected(signal: AbortSignal): Promise<void> {
    let isFirst = true;
    let error: HoldpointError | undefined;
    while (!signal.aborted) {
      this.#set({ state: isFirst ? "connecting" : "reconnecting", rttMs: undefined, error });
      isFirst = false;
      try {
        const closed = await this.#connectOnce(signal);
        if (signal.aborted) return;
        const isRefused = closed.code === REFUSED;
        const words = closed.reason || "The connection to the server was lost.";
        error = new HoldpointError(isRefused ? "connection-refused" : "connection-lost", words);
        if (isRefused) return this.#giveUp(error);
      } catch (thrown) {
        if (signal.aborted) return;
        error = asHoldpointError(thrown, "connection-lost");
        // A refused key will be refused again.
        if (!isRetryable(error)) return this.#giveUp(error);
      }
      this.#set({ state: "reconnecting", rttMs: undefined, error });
      this.#server.reachability.suspect();
      if (this.#backoff.attempts + 1 >= this.#options.maxAttempts) this.#options.onFailure(error);
      await this.#server.reachability.pause(this.#backoff, signal);
    }
  }

  #giveUp(error: HoldpointError): void {
    this.#abort = undefined;
    this.#set({ state: "closed", rttMs: undefined, error });
    this.#options.onFailure(error);
  }

  /** One connection, from opening to close. */
  async #connectOnce(signal: AbortSignal): Promise<{ code: number; reason: string }> {
    const url = this.#server.socketUrl("/live");
    url.searchParams.set("id", this.#options.chatId);
    if (this.#options.text === "progressive") url.searchParams.set("text", "progressive");
    const ticket = await this.#server.ticket(signal);
    if (ticket !== undefined) url.searchParams.set("ticket", ticket);
    const Socket = this.#options.webSocket ?? globalThis.WebSocket;
    if (Socket === undefined)
      throw new HoldpointError(
        "no-websocket",
        "There is no WebSocket here: give the transport a class for it (webSocket).",
      );
    if (signal.aborted) return { code: 1000, reason: "" };

    const socket: SocketLike = new Socket(url.href);
    this.#socket = socket;
    return await new Promise((resolve) => {
      let pings: ReturnType<typeof setInterval> | undefined;
      const finish = (closed: { code: number; reason: string }) => {
        signal.removeEventListener("abort", onAbort);
        clearTimeout(timeout);
        clearInterval(pings);
        if (this.#socket === socket) this.#forget();
        resolve(closed);
      };
      const onAbort = () => {
        socket.close(1000, "closed by the client");
        finish({ code: 1000, reason: "" });
      };
      // A socket that hangs while opening or closing fires no event: do not wait for its close event.
      const abandon = (reason: string) => {
        socket.close();
        finish({ code: 1006, reason });
      };
      const timeout = setTimeout(() => abandon("The server did not answer in time."), TIMEOUT_MS);
      socket.addEventListener("open", () => {
        if (this.#socket !== socket) return;
        clearTimeout(timeout);
        this.#set({ state: "open", rttMs: undefined });
        this.#ping();
        if (this.#options.pingIntervalMs > 0) {
          pings = setInterval(() => this.#pingAgain(abandon), this.#options.pingIntervalMs);
        }
        this.#options.onOpen();
      });
      socket.addEventListener("message", ({ data }) => {
        if (this.#socket === socket && typeof data === "string") this.#receive(readLiveRecord(data));
      });
      socket.addEventListener("close", ({ code, reason }) => finish({ code, reason }));
      // An error is always followed by a close event, which has the code. But without a listener some classes throw.
      socket.addEventListener("error", () => {});
      signal.addEventListener("abort", onAbort);
    });
  }

  #receive(record: LiveRecord): void {
    // Not when the socket opens: a server that accepts every connection and drops it again is not reachable.
    this.#backoff.reset();
    this.#server.reachability.answered();
    if (record.kind !== "pong") this.#options.onRecord(record);
    if (record.kind !== "pong" || typeof record.timestamp !== "number") return;
    const sent = this.#pinged.get(record.timestamp);
    const barrier = this.#barriers.get(record.timestamp);
    this.#pinged.delete(record.timestamp);
    this.#barriers.delete(record.timestamp);
    if (sent !== undefined) this.#set({ state: "open", rttMs: performance.now() - sent });
    barrier?.();
  }

  /** Sends a ping. Its number comes back in the pong. */
  #ping(): number | undefined {
    const ping = ++this.#pings;
    if (!this.send({ type: "ping", timestamp: ping })) return undefined;
    this.#pinged.set(ping, performance.now());
    return ping;
  }

  #pingAgain(abandon: (reason: string) => void): void {
    const [oldest] = this.#pinged.values();
    if (oldest !== undefined && performance.now() - oldest > TIMEOUT_MS) abandon("The server no longer answers.");
    else this.#ping();
  }

  #forget(): void {
    this.#socket = undefined;
    this.#pinged.clear();
    this.#barriers.clear();
  }

  #set(connection: LiveConnection): void {
    const { state, rttMs, error } = this.#connection;
    if (state === connection.state && rttMs === connection.rttMs && error === connection.error) return;
    this.#connection = connection;
    this.#options.onConnection(connection);
  }
}
