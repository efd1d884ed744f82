// A load balancer without sticky sessions: it sends each request and each WebSocket to another node than the one before.
// Responses are passed on as they arrive, and whoever goes away is gone on the other side too.

import { createServer, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { buffer } from "node:stream/consumers";

/**
 * `round`: the nodes take turns. `apart`: the first node gets the requests that begin a turn, the others take turns in
 * everything else, so that streams, decisions, acks, stops and lists are on a node that does not run the turn. A WebSocket
 * is one connection, and on one of the others.
 */
export const ROUTES = ["round", "apart"];

/** Headers between two neighbours, which are not passed on. */
const OF_CONNECTION = new Set(["connection", "keep-alive", "proxy-connection", "te", "upgrade"]);

const isTurnPath = ({ method, url }) =>
  method === "POST" && ["/api/chat", "/stream"].includes(new URL(url, "http://any").pathname);

/** Whether the request asks the model for something new. Other messages carry answers to a turn that is there. */
export function beginsTurn(body) {
  let request;
  try {
    request = JSON.parse(body);
  } catch {
    return false;
  }
  if (request?.trigger === "regenerate-message") return true;
  const last = request?.messages?.at?.(-1);
  const isTool = ({ type }) => type === "dynamic-tool" || type?.startsWith("tool-");
  return last?.role === "user" && !(last.parts ?? []).some(isTool);
}

export class Front {
  url;
  /** How many requests and WebSockets each node got. */
  counts;
  #nodes;
  #route;
  #next = 0;
  #server = createServer((request, response) => this.#pass(request, response));

  /** `nodes` are URLs. */
  static async open(nodes, { route = "round" } = {}) {
    if (!ROUTES.includes(route)) throw new Error(`unknown route ${route}: expected ${ROUTES.join(" or ")}`);
    const front = new Front();
    front.#nodes = nodes.map((url) => new URL(url));
    front.#route = route;
    front.counts = nodes.map(() => 0);
    front.#server.on("upgrade", (request, socket, head) => front.#tunnel(request, socket, head));
    // A stream may be silent for as long as the nodes allow.
    front.#server.requestTimeout = 0;
    front.#server.keepAliveTimeout = 60_000;
    await new Promise((resolve) => front.#server.listen(0, "127.0.0.1", resolve));
    front.url = `http://127.0.0.1:${front.#server.address().port}`;
    return front;
  }

  /** The nodes for a request, in the order in which they are tried: the second if the first is down. */
  #order(isBegin) {
    const all = this.#nodes.map((_, at) => at);
    const pool = this.#route === "apart" && !isBegin ? all.slice(1) : all;
    if (this.#route === "apart" && isBegin) return all;
    this.#next += 1;
    const turned = pool.map((_, at) => pool[(this.#next + at) % pool.length]);
    return [...turned, ...all.filter((at) => !pool.includes(at))];
  }

  async #pass(request, response) {
    // Only what may begin a turn has to be read before it is sent to a node.
    const body = this.#route === "apart" && isTurnPath(request) ? await buffer(request).catch(() => null) : undefined;
    if (body === null) return response.destroy();
    this.#try(this.#order(body !== undefined && beginsTurn(body)), request, response, body);
  }

  #try([at, ...others], request, response, body) {
    const upstream = httpRequest({
      ...place(this.#nodes[at]),
      // A connection of its own: none is reused after the node has closed it.
      agent: false,
      method: request.method,
      path: request.url,
      headers: passedOn(request.rawHeaders),
    });
    let isConnected = false;
    upstream.once("socket", (socket) => {
      socket.setNoDelay(true);
      socket.once("connect", () => {
        isConnected = true;
        this.counts[at] += 1;
        if (body === undefined) request.pipe(upstream);
        else upstream.end(body);
      });
    });
    upstream.on("response", (incoming) => {
      response.writeHead(incoming.statusCode, incoming.statusMessage, passedOn(incoming.rawHeaders));
      response.flushHeaders();
      incoming.pipe(response);
      // A response that breaks off breaks off here too.
      incoming.on("close", () => {
        if (!incoming.complete) response.destroy();
      });
    });
    upstream.on("error", () => {
      // Nothing was sent to a node that could not be reached, so another one may have the request.
      if (isConnected || others.length === 0 || response.destroyed) response.destroy();
      else this.#try(others, request, response, body);
    });
    response.on("close", () => {
      if (!response.writableFinished) upstream.destroy();
    });
  }

  #tunnel(request, socket, head, [at, ...others] = this.#order(false)) {
    const node = connect(place(this.#nodes[at]));
    let isConnected = false;
    const end = () => {
      node.destroy();
      socket.destroy();
    };
    node.once("connect", () => {
      isConnected = true;
      this.counts[at] += 1;
      const lines = [`${request.method} ${request.url} HTTP/1.1`];
      for (let header = 0; header < request.rawHeaders.length; header += 2) {
        lines.push(`${request.rawHeaders[header]}: ${request.rawHeaders[header + 1]}`);
      }
      node.write(`${lines.join("\r\n")}\r\n\r\n`);
      if (head.length > 0) node.write(head);
      node.setNoDelay(true);
      socket.setNoDelay(true);
      node.pipe(socket);
      socket.pipe(node);
    });
    node.on("error", () => {
      if (isConnected || others.length === 0 || socket.destroyed) end();
      else this.#tunnel(request, socket, head, others);
    });
    node.on("close", () => isConnected && end());
    socket.on("error", end);
    socket.on("close", end);
  }

  close() {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(resolve));
  }
}

const place = ({ hostname, port }) => ({ host: hostname, port });

/** Names as they were written, each header as often as it was sent. */
function passedOn(raw) {
  const headers = [];
  for (let at = 0; at < raw.length; at += 2) {
    if (!OF_CONNECTION.has(raw[at].toLowerCase())) headers.push(raw[at], raw[at + 1]);
  }
  return headers;
}
