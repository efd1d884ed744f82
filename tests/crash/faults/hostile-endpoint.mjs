// An HTTP endpoint that misbehaves. The path names the behaviour, and every request that reaches it is counted.

import { createServer } from "node:net";
import { gzipSync } from "node:zlib";

const CHUNK = Buffer.alloc(64 * 1024, 0x61);
const json = (body, headers = "") => answer(body, `content-type: application/json\r\n${headers}`);
const answer = (body, headers = "", status = "200 OK") =>
  Buffer.concat([
    Buffer.from(
      `HTTP/1.1 ${status}\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n`,
    ),
    Buffer.from(body),
  ]);
const redirect = (to) => answer("", `location: ${to}\r\n`, "302 Found");

/** Writes as fast as the other side reads, until it disconnects. */
function pour(socket, piece) {
  const more = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on("drain", more);
  more();
}

function drip(socket, piece) {
  const timer = setInterval(() => socket.write(piece), 100);
  socket.on("close", () => clearInterval(timer));
}

const framed = (body) => Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n")]);
const chunkedHead = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n";

export const DECEIVING = "paid \u001b[2J\u0000\u0007\u202egnp.exe\u2066 \u200b\ufeff done";

const BOMB = gzipSync(Buffer.alloc(200 * 1024 * 1024, 0x20), { level: 9 });

export const acts = {
  "endless-body"(socket) {
    socket.write(chunkedHead);
    pour(socket, framed(CHUNK));
  },
  "endless-header"(socket) {
    socket.write("HTTP/1.1 200 OK\r\n");
    pour(socket, `x-${"a".repeat(1000)}: ${"b".repeat(1000)}\r\n`);
  },
  "endless-continue": (socket) => pour(socket, "HTTP/1.1 100 Continue\r\n\r\n".repeat(500)),
  "ten-megabytes": (socket) => socket.end(json(`"${"a".repeat(10 << 20)}"`)),
  deep: (socket) => socket.end(json("[".repeat(100_000) + "]".repeat(100_000))),
  "raw-value": (socket) => socket.end(json(`{"$serde_json::private::RawValue":"[1]"}`)),
  "forbidden-key": (socket) => socket.end(json(`{"__proto__":{"isAdmin":true}}`)),
  "not-json": (socket) => socket.end(json("<html>welcome</html>")),
  "control-text": (socket) => socket.end(answer(DECEIVING, "content-type: text/plain\r\n")),
  "control-json": (socket) => socket.end(json(JSON.stringify({ note: DECEIVING }))),
  "control-error": (socket) => socket.end(answer(DECEIVING, "content-type: text/plain\r\n", "500 Oh no")),
  "wrong-type": (socket) => socket.end(answer('{"paid":true}', "content-type: image/png\r\n")),
  binary: (socket) => socket.end(answer(Buffer.from([0xff, 0xfe, 0, 0x80, 0xc3]), "content-type: image/png\r\n")),
  "no-http": (socket) => socket.end("220 smtp.example ESMTP\r\n"),
  "headers-only": (socket) =>
    socket.write("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n"),
  silent() {},
  "slow-drip"(socket) {
    socket.write(chunkedHead);
    drip(socket, "1\r\na\r\n");
  },
  "slow-header"(socket) {
    socket.write("HTTP/1.1 200 OK\r\nx-a: ");
    drip(socket, "b");
  },
  reset: (socket) => socket.resetAndDestroy(),
  "reset-in-body"(socket) {
    socket.write("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{", () =>
      socket.resetAndDestroy(),
    );
  },
  "to-file": (socket) => socket.end(redirect("file:///etc/passwd")),
  "to-other": (socket, { other }) => socket.end(redirect(other)),
  "to-itself": (socket) => socket.end(redirect("/to-itself")),
  "gzip-bomb": (socket) => socket.end(json(BOMB, "content-encoding: gzip\r\n")),
};

/** Starts listening. Returns its URL, the requests by path, and `close`. */
export async function open(other) {
  const requests = [];
  const sockets = new Set();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    let head = "";
    const take = (data) => {
      head += data;
      // Read the whole request: what was read was sent.
      const [, length] = head.match(/content-length: (\d+)/i) ?? [];
      const end = head.indexOf("\r\n\r\n");
      if (end < 0 || head.length < end + 4 + Number(length ?? 0)) return;
      socket.off("data", take);
      socket.resume();
      const path = head.split(" ")[1].slice(1);
      requests.push(path);
      acts[path]?.(socket, { other });
    };
    socket.on("data", take);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${server.address().port}/`, requests, close };
}
