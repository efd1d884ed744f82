import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import WebSocket, { WebSocketServer } from "ws";

/** A proxy in front of a server that loses connections on request. */
export type Proxy = {
  url: string;
  /** How many WebSockets were opened so far. */
  connections: () => number;
  /** How many frames came from the server on all of them. */
  frames: () => number;
  /** Frames that clients sent, as they were. */
  sent: string[];
  /** Cuts every WebSocket now; HTTP goes on. */
  cut: () => void;
  /** Cuts every HTTP connection now. */
  cutHttp: () => void;
  /** The requests so far, as `METHOD /path`. */
  requests: string[];
  /** Passes the next request that matches on to the server, and cuts the connection instead of giving back its answer. */
  loseAnswer: (match: RegExp) => void;
  /** Answers the next request that matches by itself; the server never sees it. */
  answerNext: (match: RegExp, status: number, headers?: Record<string, string>) => void;
  /** Swallows (or passes on again) what the server sends over WebSockets. */
  mute: (isMuted: boolean) => void;
  /** Refuses (or takes again) new WebSockets. */
  refuse: (isRefusing: boolean) => void;
  stop: () => Promise<void>;
};

/** Where to cut: after so many frames in one direction, once. */
export type Cut = { after: number; from: "server" | "client" };

/** Starts a proxy. A cut is made once, at the frame that it names, before that frame is passed on. */
export async function startProxy(target: string, cut?: Cut): Promise<Proxy> {
  const counts = { connections: 0, server: 0, client: 0 };
  const sent: string[] = [];
  const sockets = new Set<WebSocket>();
  let isRefusing = false;
  let isMuted = false;
  let isCut = false;
  const cutNow = () => {
    for (const socket of sockets) socket.terminate();
    sockets.clear();
  };
  /** Counts a frame; says whether it is lost with its connection. */
  const isLost = (from: "server" | "client") => {
    counts[from]++;
    if (isCut || cut?.from !== from || counts[from] !== cut.after) return false;
    isCut = true;
    cutNow();
    return true;
  };

  const requests: string[] = [];
  const plans: { match: RegExp; status?: number; headers?: Record<string, string> | undefined }[] = [];
  const http = createServer((incoming, outgoing) => {
    const request = `${incoming.method} ${incoming.url}`;
    requests.push(request);
    const at = plans.findIndex(({ match }) => match.test(request));
    const [plan] = at === -1 ? [] : plans.splice(at, 1);
    if (plan?.status !== undefined) {
      incoming.resume();
      outgoing.writeHead(plan.status, plan.headers).end();
      return;
    }
    const forwarded = httpRequest(
      new URL(incoming.url ?? "/", target),
      { method: incoming.method ?? "GET", headers: incoming.headers },
      (answer) => {
        if (plan !== undefined) {
          answer.resume();
          answer.on("end", () => outgoing.destroy());
          return;
        }
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      },
    );
    forwarded.on("error", () => outgoing.destroy());
    outgoing.on("close", () => forwarded.destroy());
    incoming.pipe(forwarded);
  });
  const front = new WebSocketServer({ noServer: true });
  http.on("upgrade", (incoming, raw, head) => {
    if (isRefusing) return raw.destroy();
    counts.connections++;
    front.handleUpgrade(incoming, raw, head, (client) => join(client, incoming.url ?? "/"));
  });
  const join = (client: WebSocket, path: string) => {
    const back = new WebSocket(new URL(path, target.replace("http", "ws")));
    const early: string[] = [];
    for (const socket of [client, back]) {
      sockets.add(socket);
      socket.on("error", () => socket.terminate());
    }
    client.on("message", (data) => {
      sent.push(String(data));
      if (isLost("client")) return;
      if (back.readyState === WebSocket.OPEN) back.send(String(data));
      else early.push(String(data));
    });
    back.on("open", () => {
      for (const data of early.splice(0)) back.send(data);
    });
    back.on("message", (data) => {
      if (!isLost("server") && !isMuted) client.send(String(data));
    });
    client.on("close", () => back.terminate());
    back.on("close", (code, reason) => (code === 1006 ? client.terminate() : client.close(code, reason)));
  };
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    connections: () => counts.connections,
    frames: () => counts.server,
    sent,
    cut: cutNow,
    cutHttp: () => http.closeAllConnections(),
    requests,
    loseAnswer: (match) => plans.push({ match }),
    answerNext: (match, status, headers) => plans.push({ match, status, headers }),
    mute: (value) => {
      isMuted = value;
    },
    refuse: (value) => {
      isRefusing = value;
    },
    stop: async () => {
      cutNow();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}
