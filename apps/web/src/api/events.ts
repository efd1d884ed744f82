import { createParser } from "eventsource-parser";
import { apiFetch } from "./http";
import { keyStore } from "./key";
import type { ServerEvent } from "./types";

/*
 * A browser keeps at most six HTTP/1.1 connections to an origin. An event stream for every tab would use them up, and the
 * seventh request would hang: so one tab reads for all of them, and the others hear it over a BroadcastChannel.
 */

type Listener = (event: ServerEvent) => void;

const listeners = new Set<Listener>();
let stop: (() => void) | undefined;

/** Which chats and approvals changed. Every `ready` means: what was read before may be old. */
export function subscribeToEvents(listener: Listener): () => void {
  listeners.add(listener);
  if (listeners.size === 1) start();
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      stop?.();
      stop = undefined;
    }
  };
}

function start(): void {
  const controller = new AbortController();
  const { signal } = controller;
  const name = `holdpoint-events-${subjectTag()}`;
  const channel = new BroadcastChannel(name);
  channel.onmessage = ({ data }: MessageEvent<ServerEvent>) => tell(data);
  const say = (event: ServerEvent) => {
    channel.postMessage(event);
    tell(event);
  };
  const { generation } = keyStore.read();
  const unfollow = keyStore.subscribe(() => {
    // Another key is another subject, with other chats.
    if (keyStore.read().generation === generation) return;
    stop?.();
    if (listeners.size > 0) start();
  });
  stop = () => {
    unfollow();
    controller.abort();
    channel.close();
  };
  // Locks exist in secure contexts only; elsewhere every tab reads for itself.
  if (navigator.locks === undefined) void readForEver(tell, signal);
  else void navigator.locks.request(name, { signal }, () => readForEver(say, signal)).catch(() => undefined);
}

function tell(event: ServerEvent): void {
  for (const listener of [...listeners]) listener(event);
}

async function readForEver(say: Listener, signal: AbortSignal): Promise<void> {
  let pauseMs = 500;
  while (!signal.aborted) {
    try {
      const response = await apiFetch("/api/events", { signal, headers: { accept: "text/event-stream" } });
      if (response.status === 401) return;
      if (response.ok && response.body !== null) {
        pauseMs = 500;
        await readStream(response.body, say);
      }
    } catch {
      // The server is away, or this was stopped: the loop knows which.
    }
    await pause(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, 10_000);
  }
}

async function readStream(body: ReadableStream<Uint8Array>, say: Listener): Promise<void> {
  const decoder = new TextDecoder();
  const parser = createParser({
    onEvent: ({ data }) => {
      try {
        say(JSON.parse(data) as ServerEvent);
      } catch {
        // An event of a newer server: not for us.
      }
    },
  });
  for await (const bytes of body) parser.feed(decoder.decode(bytes, { stream: true }));
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Tabs with different keys must not hear each other. */
function subjectTag(): string {
  let hash = 0;
  for (const character of keyStore.read().key ?? "") hash = (Math.imul(hash, 31) + character.charCodeAt(0)) | 0;
  return hash.toString(36);
}

/** The same, for the client's hooks. */
export const eventsSource = { subscribe: subscribeToEvents };
