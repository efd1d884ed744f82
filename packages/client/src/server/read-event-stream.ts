/** An event is small; one that never ends must not fill the memory. */
const MAX_EVENT = 8 * 1024 * 1024;

/** The `data` of each server-sent event, wherever the bytes are split. `onBytes` is told of all that comes, comments included. */
export async function* readEventStream(body: ReadableStream<Uint8Array>, onBytes?: () => void): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes?.();
      rest += decoder.decode(value, { stream: true });
      // A last \r may be half of a line's end.
      const end = rest.endsWith("\r") ? rest.length - 1 : rest.length;
      const lines = rest.slice(0, end).split(/\r\n|\n|\r/);
      rest = (lines.pop() ?? "") + rest.slice(end);
      for (const line of lines) {
        if (line === "") {
          if (data.length > 0) yield data.join("\n");
          data = [];
        } else if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
      }
      if (rest.length > MAX_EVENT) throw new Error("The server sent an event without an end.");
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
