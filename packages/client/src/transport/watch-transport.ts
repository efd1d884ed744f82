import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";

/** What a watcher of a transport is told. */
export type TransportWatcher = {
  /** Before the client gets it. */
  onChunk?: ((chunk: UIMessageChunk) => void) | undefined;
  /** A request, or its response on the way, failed. A response that was given up is no failure. */
  onFailure?: ((error: unknown) => void) | undefined;
};

/** The same transport, with somebody who sees every chunk and every failure. */
export function watchTransport<UI_MESSAGE extends UIMessage>(
  transport: ChatTransport<UI_MESSAGE>,
  { onChunk, onFailure }: TransportWatcher,
): ChatTransport<UI_MESSAGE> {
  const watch = async <STREAM extends ReadableStream<UIMessageChunk> | null>(request: Promise<STREAM>) => {
    try {
      const stream = await request;
      if (stream === null) return stream;
      return readThrough(stream, onChunk, onFailure) as STREAM;
    } catch (error) {
      if (!isAbort(error)) onFailure?.(error);
      throw error;
    }
  };
  return {
    // Only `ai` 7 asks; the property is read at the time, since a transport may be wrapped before it knows.
    get resumeStreamIsReplay() {
      return (transport as { resumeStreamIsReplay?: boolean }).resumeStreamIsReplay ?? false;
    },
    sendMessages: (options) => watch(transport.sendMessages(options)),
    reconnectToStream: (options) => watch(transport.reconnectToStream(options)),
  };
}

function readThrough(
  stream: ReadableStream<UIMessageChunk>,
  onChunk: TransportWatcher["onChunk"],
  onFailure: TransportWatcher["onFailure"],
): ReadableStream<UIMessageChunk> {
  const reader = stream.getReader();
  return new ReadableStream<UIMessageChunk>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) return controller.close();
          if (value.type === "error") onFailure?.(new Error(value.errorText));
          onChunk?.(value);
          controller.enqueue(value);
        } catch (error) {
          if (!isAbort(error)) onFailure?.(error);
          controller.error(error);
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    // Nothing is read ahead: a chunk is seen when the client takes it.
    { highWaterMark: 0 },
  );
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}
