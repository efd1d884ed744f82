import { afterAll, beforeAll, describe, expect, it } from "vitest";
import WebSocket, { WebSocketServer } from "ws";
import { LiveChatTransport } from "../src/index.js";
import { until } from "./support/until.js";

/** A server that counts its sockets and closes none of them. */
let server: WebSocketServer;
let baseUrl: string;
beforeAll(async () => {
  server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await new Promise((resolve) => server.once("listening", resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
});
afterAll(() => {
  for (const client of server.clients) client.terminate();
  server.close();
});

const COUNT = 80;

/** Every socket that a transport has opened. */
function transports(ticket?: () => Promise<string>) {
  const sockets: WebSocket[] = [];
  class Counted extends WebSocket {
    constructor(url: string) {
      super(url);
      sockets.push(this);
    }
  }
  const all = Array.from({ length: COUNT }, (_, i) => {
    return new LiveChatTransport({ baseUrl, chatId: `close-${i}`, webSocket: Counted, ticket });
  });
  const resume = () => {
    for (const transport of all) void transport.reconnectToStream({ chatId: "c" });
  };
  const close = () => {
    for (const transport of all) transport.close();
  };
  return { sockets, resume, close };
}

const allClosed = (sockets: WebSocket[]) =>
  until("every socket to close", () => sockets.every(({ readyState }) => readyState === WebSocket.CLOSED), 3_000);

describe("close()", () => {
  it("closes an open socket", async () => {
    const { sockets, resume, close } = transports();
    resume();
    await until(
      "the sockets",
      () => sockets.filter(({ readyState }) => readyState === WebSocket.OPEN).length === COUNT,
    );
    close();
    await allClosed(sockets);
    await until("the server to see it", () => server.clients.size === 0, 3_000);
  });

  it("closes a socket that is being opened", async () => {
    const { sockets, resume, close } = transports();
    resume();
    await until("the sockets", () => sockets.length === COUNT);
    close();
    await allClosed(sockets);
    await until("the server to see it", () => server.clients.size === 0, 3_000);
  });

  it("opens none after it, although a ticket arrives late", async () => {
    let give: (ticket: string) => void = () => {};
    const late = new Promise<string>((resolve) => {
      give = resolve;
    });
    const { sockets, resume, close } = transports(() => late);
    resume();
    close();
    give("a-ticket");
    // Those that ask later are connected, so that the ticket has long arrived.
    const others = transports(async () => "a-ticket");
    others.resume();
    await until("the others' sockets", () => others.sockets.length === COUNT);
    others.close();
    expect(sockets).toHaveLength(0);
    await allClosed(others.sockets);
  });

  it("leaves one socket after a close and a new request, the new one", async () => {
    const { sockets, resume, close } = transports();
    resume();
    await until("the sockets", () => sockets.length === COUNT);
    close();
    resume();
    await until("the new sockets", () => sockets.length === 2 * COUNT);
    await allClosed(sockets.slice(0, COUNT));
    await until("the rest", () => server.clients.size === COUNT, 3_000);
    close();
    await allClosed(sockets);
  });
});
