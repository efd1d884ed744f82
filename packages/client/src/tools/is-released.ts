import type { ChatId, ToolCallId } from "../protocol.js";
import { ApprovalsClient } from "../server/approvals-client.js";
import { readEventStream } from "../server/read-event-stream.js";
import { Server } from "../server/server.js";
import type { ServerOptions } from "../server/server-options.js";

/**
 * Whether a call that runs in a browser waits for nothing but this browser: it needed no approval, or has it. No stream says so
 * where the approval was given elsewhere or before a reload: only outcomes are told. But a question that is gone from the inbox was
 * answered or closed; everything but a yes settles the call at once; and a running message is told with the input of exactly
 * those calls that are not settled. It is asked in this order, so that a no can't come in between.
 */
export async function isReleased(
  { chatId, toolCallId }: { chatId: ChatId; toolCallId: ToolCallId },
  options: ServerOptions,
): Promise<boolean> {
  const open = await new ApprovalsClient(options).list();
  if (open.some((approval) => approval.toolCallId === toolCallId)) return false;
  const abort = new AbortController();
  try {
    const path = `/api/chat/${encodeURIComponent(chatId)}/stream`;
    const { body } = await new Server(options).request(path, { signal: abort.signal });
    if (body === null) return false;
    for await (const data of readEventStream(body)) {
      if (data === "[DONE]") break;
      const chunk = JSON.parse(data) as { type: string; toolCallId?: ToolCallId };
      const isBeginning = chunk.type === "tool-input-start" || chunk.type === "tool-input-delta";
      if (chunk.toolCallId !== toolCallId || isBeginning) continue;
      return chunk.type === "tool-input-available";
    }
    return false;
  } finally {
    abort.abort();
  }
}
