import { expect, it, vi } from "vitest";
import { createHoldpoint, type EventsSource } from "../src/index.js";
import type { ServerEvent } from "../src/protocol.js";
import { reachabilityOf } from "../src/server/reachability.js";
import { startProxy } from "./support/proxy.js";
import { startServer } from "./support/server.js";
import { nothingFor, until } from "./support/until.js";

let servers = 0;

/** A server that is there or not. */
function fake() {
  const is = { up: true, status: 200 };
  const asked: string[] = [];
  const respond: typeof fetch = async (input) => {
    const path = String(input).replace(/^.*example/, "");
    asked.push(path);
    if (!is.up) throw new TypeError("fetch failed");
    return path === "/api/tools" ? new Response("[]", { status: is.status }) : Response.json([]);
  };
  const options = { baseUrl: `http://reach-${servers++}.example`, fetch: respond };
  return { is, asked, options, reachability: reachabilityOf(options) };
}

it("is known from the first answer, whatever it says", async () => {
  const { is, options, reachability } = fake();
  expect(reachability.getStatus().state).toBe("connecting");
  is.status = 404;
  await createHoldpoint(options)
    .tools()
    .catch(() => {});
  expect(reachability.getStatus().state).toBe("connected");
});

it("is lost when a request fails and the server does not answer a probe, and found again by itself", async () => {
  const { is, options, reachability } = fake();
  await createHoldpoint(options).tools();
  const states: string[] = [];
  const stop = reachability.subscribe(() => states.push(reachability.getStatus().state));
  is.up = false;
  const before = Date.now();
  await createHoldpoint(options)
    .tools()
    .catch(() => {});
  await until("the loss", () => states.at(-1) === "unreachable");
  expect(reachability.getStatus().since.getTime()).toBeGreaterThanOrEqual(before);
  is.up = true;
  await until("the return", () => states.at(-1) === "connected");
  expect(states).toEqual(["unreachable", "connected"]);
  stop();
});

it("is not lost with one endpoint, nor with a request that was given up", async () => {
  const { is, options, reachability, asked } = fake();
  await createHoldpoint(options).tools();
  const listener = vi.fn();
  const stop = reachability.subscribe(listener);
  is.status = 500;
  await createHoldpoint(options)
    .tools()
    .catch(() => {});
  await until("the probe", () => asked.some((path) => path.startsWith("/api/approvals")));
  const probes = asked.length;
  const abort = new AbortController();
  const late: typeof fetch = async (_, init) => {
    abort.abort();
    throw init?.signal?.reason;
  };
  await createHoldpoint({ ...options, fetch: late })
    .tools({ signal: abort.signal })
    .catch(() => {});
  await nothingFor(50);
  expect(asked).toHaveLength(probes);
  expect(listener).not.toHaveBeenCalled();
  stop();
});

it("is not asked for where nobody looks", async () => {
  const { is, options, reachability, asked } = fake();
  is.up = false;
  await createHoldpoint(options)
    .tools()
    .catch(() => {});
  await until("the loss", () => reachability.getStatus().state === "unreachable");
  const probes = asked.length;
  await nothingFor(700);
  expect(asked).toHaveLength(probes);
  // Who comes to look makes it ask again.
  is.up = true;
  const stop = reachability.subscribe(() => {});
  await until("the return", () => reachability.getStatus().state === "connected");
  stop();
});

it("is told by the events' source", async () => {
  const { is, options, reachability } = fake();
  await createHoldpoint(options).tools();
  let tell: (isConnected: boolean) => void = () => {};
  const events: EventsSource = {
    subscribe: (_, onConnection) => {
      tell = onConnection ?? tell;
      tell(true);
      return () => {};
    },
  };
  const connections: boolean[] = [];
  const seen: ServerEvent[] = [];
  const stop = createHoldpoint({ ...options, events }).watchEvents({
    onEvent: (event) => seen.push(event),
    onConnection: (value) => connections.push(value),
  });
  expect(seen).toEqual([{ type: "ready" }]);
  is.up = false;
  tell(false);
  await until("the loss", () => reachability.getStatus().state === "unreachable");
  expect(connections).toEqual([true, false]);
  stop();
});

it("is watched, although nothing is asked of it", async () => {
  const server = await startServer({ isDurable: true });
  const states: string[] = [];
  const stop = createHoldpoint({ baseUrl: server.url }).watchServer(({ state }) => states.push(state));
  expect(states).toEqual(["connecting"]);
  await until("the connection", () => states.at(-1) === "connected");
  await server.kill();
  await until("the loss", () => states.at(-1) === "unreachable");
  await server.restart();
  await until("the return", () => states.at(-1) === "connected");
  expect(states).toEqual(["connecting", "connected", "unreachable", "connected"]);
  stop();
  await server.stop();
});

it("a page has one connection for the events, however many follow them", async () => {
  const server = await startServer();
  const proxy = await startProxy(server.url);
  const streams = () => proxy.requests.filter((request) => request === "GET /api/events").length;
  const seen: string[][] = [[], [], []];
  const follow = (i: number) =>
    createHoldpoint({ baseUrl: proxy.url }).watchEvents({ onEvent: ({ type }) => seen[i]?.push(type) });
  const stops = [follow(0), follow(1)];
  await until("both", () => seen[0]?.includes("ready") && seen[1]?.includes("ready"));
  stops.push(follow(2));
  expect(seen[2]).toEqual(["ready"]);
  expect(streams()).toBe(1);
  proxy.cutHttp();
  await until("all again", () => seen.every((types) => types.filter((type) => type === "ready").length === 2));
  expect(streams()).toBe(2);
  for (const stop of stops) stop();
  const again = follow(0);
  await until("a new connection", () => streams() === 3);
  again();
  await proxy.stop();
  await server.stop();
});

it("holds of a chat that nobody knows are none", async () => {
  const server = await startServer();
  expect(await createHoldpoint({ baseUrl: server.url }).holds.ofChat("nobody-knows")).toEqual([]);
  await server.stop();
});
