import { createParser } from "eventsource-parser";
import { Backoff, type ServerEvent } from "holdpoint";
import { apiFetch } from "./http";
import { keyStore } from "./key";

/*
 * Browsers allow at most six HTTP/1.1 connections per origin. One event stream per tab would use them up, and the
 * seventh request would hang. So one tab reads the stream and shares it over a BroadcastChannel.
 */

interface Listener {
  onEvent: (event: ServerEvent) => void;
  onConnection: ((isConnected: boolean) => void) | undefined;
}

/** The messages between tabs. A tab that opens later asks whether the reader is connected. */
type TabMessage = { event: ServerEvent } | { isConnected: boolean } | { asks: true };

/** The server sends something at least every 15 seconds: after this long, the connection is dead. */
const SILENT_MS = 35_000;

const listeners = new Set<Listener>();
let isLeaving = false;
window.addEventListener("pagehide", () => {
  isLeaving = true;
});
window.addEventListener("pageshow", () => {
  isLeaving = false;
});
let isConnected: boolean | undefined;
let stop: (() => void) | undefined;

/** Subscribes to changes of chats and approvals. Every `ready` means that data read earlier may be outdated. */
export function subscribeToEvents(
  onEvent: (event: ServerEvent) => void,
  onConnection?: (isConnected: boolean) => void,
): () => void {
  const listener = { onEvent, onConnection };
  listeners.add(listener);
  if (listeners.size === 1) start();
  else if (isConnected !== undefined) onConnection?.(isConnected);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      stop?.();
      stop = undefined;
      isConnected = undefined;
    }
  };
}

function start(): void {
  const controller = new AbortController();
  const { signal } = controller;
  const name = `holdpoint-events-${subjectTag()}`;
  const channel = new BroadcastChannel(name);
  let isReader = false;
  channel.onmessage = ({ data }: MessageEvent<TabMessage>) => {
    if (!("asks" in data)) receive(data);
    else if (isReader && isConnected !== undefined) channel.postMessage({ isConnected } satisfies TabMessage);
  };
  const publish = (message: TabMessage) => {
    // A page that is being closed loses its connection; the next reader opens its own.
    if (!isLeaving) channel.postMessage(message);
    receive(message);
  };
  const { generation } = keyStore.read();
  const unfollow = keyStore.subscribe(() => {
    // A new key is a new subject, with other chats.
    if (keyStore.read().generation === generation) return;
    stop?.();
    if (listeners.size > 0) start();
  });
  stop = () => {
    unfollow();
    controller.abort();
    channel.close();
  };
  const read = () => {
    isReader = true;
    return keepReading(publish, signal);
  };
  // Locks exist in secure contexts only; elsewhere every tab reads for itself.
  if (navigator.locks === undefined) void read();
  else {
    channel.postMessage({ asks: true } satisfies TabMessage);
    void navigator.locks.request(name, { signal }, read).catch(() => undefined);
  }
}

function receive(message: TabMessage): void {
  if ("event" in message) {
    for (const { onEvent } of [...listeners]) onEvent(message.event);
  } else if ("isConnected" in message && message.isConnected !== isConnected) {
    isConnected = message.isConnected;
    for (const { onConnection } of [...listeners]) onConnection?.(message.isConnected);
  }
}

async function keepReading(publish: (message: TabMessage) => void, signal: AbortSignal): Promise<void> {
  // No jitter: one tab per browser reads, and its user sees when it reconnects.
  const backoff = new Backoff(250, 5_000, 0);
  while (!signal.aborted) {
    const silence = new AbortController();
    try {
      const both = AbortSignal.any([signal, silence.signal]);
      const response = await apiFetch("/api/events", { signal: both, headers: { accept: "text/event-stream" } });
      if (response.status === 401) return;
      if (response.ok && response.body !== null) {
        backoff.reset();
        await readStream(response.body, publish, silence);
      }
    } catch {
      // The server is unreachable, or the loop was stopped: the check below tells which.
    }
    if (signal.aborted) return;
    publish({ isConnected: false });
    wake = new AbortController();
    await backoff.pause(AbortSignal.any([signal, wake.signal]));
  }
}

async function readStream(
  body: ReadableStream<Uint8Array>,
  publish: (message: TabMessage) => void,
  silence: AbortController,
): Promise<void> {
  const decoder = new TextDecoder();
  const parser = createParser({
    onEvent: ({ data }) => {
      try {
        const event = JSON.parse(data) as ServerEvent;
        if (event.type === "ready") publish({ isConnected: true });
        publish({ event });
      } catch {
        // An event of a newer server: ignored.
      }
    },
  });
  let timer = setTimeout(() => silence.abort(), SILENT_MS);
  try {
    for await (const bytes of body) {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENT_MS);
      parser.feed(decoder.decode(bytes, { stream: true }));
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Aborted to end the current delay early. */
let wake: AbortController | undefined;

/** Reconnects at once, because the server responds again. */
export function reconnectEvents(): void {
  wake?.abort();
}

/** Tabs with different keys must not receive each other's messages. */
function subjectTag(): string {
  let hash = 0;
  for (const character of keyStore.read().key ?? "") hash = (Math.imul(hash, 31) + character.charCodeAt(0)) | 0;
  return hash.toString(36);
}

/** The event source for the client's hooks. */
export const eventsSource = { subscribe: subscribeToEvents };
