import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";

/** Where a request failed: on its way, in the middle of its response, or at the server, which said so in an `error` chunk. */
export type FailedAt = "request" | "response" | "server";

/** What a watcher of a transport is told. */
export type TransportWatcher<UI_MESSAGE extends UIMessage = UIMessage> = {
  /** Before a request is sent; not for a resumed stream. */
  onRequest?: ((request: Parameters<ChatTransport<UI_MESSAGE>["sendMessages"]>[0]) => void) | undefined;
  /** Before the client gets it. */
  onChunk?: ((chunk: UIMessageChunk) => void) | undefined;
  /** A request failed. One that was given up is no failure. */
  onFailure?: ((error: unknown, at: FailedAt) => void) | undefined;
  /** A request, or a resumed stream, begins. */
  onBegin?: (() => void) | undefined;
  /** It is over, however it ended. */
  onEnd?: (() => void) | undefined;
};

/** The same transport, with somebody who sees every chunk and every failure. */
export function watchTransport<UI_MESSAGE extends UIMessage>(
  transport: ChatTransport<UI_MESSAGE>,
  watcher: TransportWatcher<UI_MESSAGE>,
): ChatTransport<UI_MESSAGE> {
  const watch = async <STREAM extends ReadableStream<UIMessageChunk> | null>(request: () => Promise<STREAM>) => {
    watcher.onBegin?.();
    try {
      const stream = await request();
      if (stream !== null) return readThrough(stream, watcher as TransportWatcher) as STREAM;
      watcher.onEnd?.();
      return stream;
    } catch (error) {
      if (!isAbort(error)) watcher.onFailure?.(error, "request");
      watcher.onEnd?.();
      throw error;
    }
  };
  return {
    // Only newer versions ask; the property is read at the time, since a transport may be wrapped before it knows.
    get resumeStreamIsReplay() {
      return (transport as { resumeStreamIsReplay?: boolean }).resumeStreamIsReplay ?? false;
    },
    sendMessages: (options) => {
      watcher.onRequest?.(options);
      return watch(() => transport.sendMessages(options));
    },
    reconnectToStream: (options) => watch(() => transport.reconnectToStream(options)),
  };
}

function readThrough(
  stream: ReadableStream<UIMessageChunk>,
  { onChunk, onFailure, onEnd }: TransportWatcher,
): ReadableStream<UIMessageChunk> {
  const reader = stream.getReader();
  return new ReadableStream<UIMessageChunk>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            onEnd?.();
            return controller.close();
          }
          if (value.type === "error") onFailure?.(new Error(value.errorText), "server");
          onChunk?.(value);
          controller.enqueue(value);
        } catch (error) {
          if (!isAbort(error)) onFailure?.(error, "response");
          onEnd?.();
          controller.error(error);
        }
      },
      cancel: (reason) => {
        onEnd?.();
        return reader.cancel(reason);
      },
    },
    // Nothing is read ahead: a chunk is seen when the client takes it.
    { highWaterMark: 0 },
  );
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}
