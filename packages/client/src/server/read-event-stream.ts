/** Events are small. The limit keeps an endless one from filling the memory. */
const MAX_EVENT = 8 * 1024 * 1024;

/**
 * Yields the `data` of each server-sent event, however the bytes are split. `onBytes` is called for everything
 * received, comments included.
 */
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
      // A trailing \r may be the first half of a line ending.
      const end = rest.endsWith("\r") ? rest.length - 1 : rest.length;
      const lines = rest.slice(0, end).split(/\r\n|\n|\r/);
      rest = (lines.pop() ?? "") + rest.slice(end);
      for (const line of lines) {
        if (line === "") {
          if (data.length > 0) yield data.join("\n");
          data = [];
        } else if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
      }
      if (rest.length > MAX_EVENT) throw new Error("An event exceeds 8 MiB.");
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
