import type { UseChatHelpers } from "@ai-sdk/react";
import type { ChatInit, UIMessage } from "ai";
import type { ChatId, Chunk, ToolCallId } from "../protocol.js";
import type { ServerOptions } from "../server/server-options.js";
import type { ToolSpec } from "../server/tool-spec.js";
import type { ToolHandlers } from "../tools/tool-handler.js";
import type { LiveChatTransportOptions } from "../transport/live-chat-transport.js";
import type { LiveConnection } from "../transport/live-connection.js";

/**
 * How the chat speaks to the server. `sse`: `POST /stream`. `live`: the WebSocket `/live`. `ai-sdk`: `POST /api/chat`, as a stock
 * `useChat` does. `ai-sdk-ws`: the WebSocket `/api/chat/ws` of `ai` 7.
 */
export type HoldpointMode = "sse" | "live" | "ai-sdk" | "ai-sdk-ws";

/** Options of {@link useHoldpoint}. The server's address and key, the mode and the chat's id are read when the hook is first used with that id. */
export type UseHoldpointOptions<UI_MESSAGE extends UIMessage = UIMessage> = ServerOptions &
  Pick<ChatInit<UI_MESSAGE>, "onError" | "onFinish" | "onData"> & {
    mode: HoldpointMode;
    chatId: ChatId;
    /** What runs in this browser, by tool name. */
    handlers?: ToolHandlers | undefined;
    /** The messages to begin with, such as those of `fetchMessages`. */
    initialMessages?: UI_MESSAGE[] | undefined;
    /** Whether to pick up a turn that is under way when the hook is first used. Default: yes. */
    resume?: boolean | undefined;
    /** Every chunk that comes from the server, for an inspector. */
    onChunk?: ((chunk: Chunk | "[DONE]") => void) | undefined;
    /** Another WebSocket class, for `live` and `ai-sdk-ws`. */
    webSocket?: LiveChatTransportOptions["webSocket"];
    /** More settings of the live transport. */
    live?: Pick<LiveChatTransportOptions, "text" | "answerTimeoutMs" | "maxAttempts" | "pingIntervalMs"> | undefined;
  };

/** Everything that `useChat` returns, and what Holdpoint adds. `stop` also stops a turn that waits. */
export type UseHoldpointHelpers<UI_MESSAGE extends UIMessage = UIMessage> = UseChatHelpers<UI_MESSAGE> & {
  /** The live connection and its round trip; in other modes `undefined`. */
  connection: LiveConnection | undefined;
  /** The server's tools, once they are known. */
  tools: ToolSpec[] | undefined;
  /** Why a call of this browser failed, or why its result did not reach the server. */
  toolErrors: Readonly<Record<ToolCallId, Error>>;
  /** Runs a call of this browser once more. */
  retryTool: (toolCallId: ToolCallId) => Promise<void>;
};

/** A chat with a Holdpoint server: `useChat` with the transport, the auto-send and the frontend tools of the mode. */
export function useHoldpoint<UI_MESSAGE extends UIMessage = UIMessage>(
  _options: UseHoldpointOptions<UI_MESSAGE>,
): UseHoldpointHelpers<UI_MESSAGE> {
  throw new Error("not built yet");
}
