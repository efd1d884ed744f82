// A WebSocket to a server that may die at any moment.

import WebSocket from "ws";
import { Down } from "../http.mjs";

/** Longer than any turn takes: an approval request of another call in the same step may keep a response open. */
const ENOUGH_MS = 1500;

/**
 * Opens a socket, sends the frames and passes every text message to `take`, until `take` returns true, the socket
 * closes or the time is up.
 */
export function converse({ url, signal }, path, frames, take) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${url.replace(/^http/, "ws")}${path}`);
    let isOpen = false;
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      socket.terminate();
      if (isOpen) resolve();
      else reject(new Down(path));
    };
    const timer = setTimeout(end, ENOUGH_MS);
    signal.addEventListener("abort", end);
    socket.on("error", end);
    socket.on("close", end);
    socket.on("open", () => {
      isOpen = true;
      for (const frame of frames) socket.send(JSON.stringify(frame));
    });
    socket.on("message", (data) => {
      if (take(String(data))) end();
    });
  });
}
