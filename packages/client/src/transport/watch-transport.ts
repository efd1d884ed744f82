import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";

/** Where a request failed: before its response, during its response, or on the server, which sent an `error` chunk. */
export type FailedAt = "request" | "response" | "server";

/** Callbacks for a transport's requests. */
export type TransportWatcher<UI_MESSAGE extends UIMessage = UIMessage> = {
  /** Called before a request is sent, but not for a resumed stream. */
  onRequest?: ((request: Parameters<ChatTransport<UI_MESSAGE>["sendMessages"]>[0]) => void) | undefined;
  /** Called with each chunk before the client gets it. */
  onChunk?: ((chunk: UIMessageChunk) => void) | undefined;
  /** A request failed. An aborted request does not count. */
  onFailure?: ((error: unknown, at: FailedAt) => void) | undefined;
  /** Replaces an error before it is reported and thrown. An abort is not an error. */
  mapError?: ((error: unknown) => unknown) | undefined;
  /** A request or a resumed stream starts. */
  onBegin?: (() => void) | undefined;
  /** It ended, in whatever way. */
  onEnd?: (() => void) | undefined;
};

/** Wraps a transport so that a watcher sees every chunk and every failure. */
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
    } catch (thrown) {
      const error = mapped(thrown, watcher);
      if (!isAbort(error)) watcher.onFailure?.(error, "request");
      watcher.onEnd?.();
      throw error;
    }
  };
  return {
    // Only newer versions read it. It is evaluated late, since a transport may be wrapped before it knows.
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
  watcher: TransportWatcher,
): ReadableStream<UIMessageChunk> {
  const { onChunk, onFailure, onEnd } = watcher;
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
        } catch (thrown) {
          const error = mapped(thrown, watcher);
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
    // No read-ahead: a chunk is observed when the client takes it.
    { highWaterMark: 0 },
  );
}

function mapped(error: unknown, { mapError }: Pick<TransportWatcher, "mapError">): unknown {
  return mapError === undefined || isAbort(error) ? error : mapError(error);
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}
