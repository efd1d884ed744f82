import { type UseChatHelpers, useChat } from "@ai-sdk/react";
import type { ChatInit, UIMessage } from "ai";
import { useCallback, useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import type { ApprovalId, ChatId, Chunk, ToolCallId } from "../protocol.js";
import type { ServerOptions } from "../server/server-options.js";
import type { ToolSpec } from "../server/tool-spec.js";
import type { AddToolOutput, ToolReport } from "../tools/frontend-tool-executor.js";
import type { ToolHandlers } from "../tools/tool-handler.js";
import type { LiveChatTransportOptions } from "../transport/live-chat-transport.js";
import type { LiveConnection } from "../transport/live-connection.js";
import type { WebSocketTransportClass } from "./create-transport.js";
import { HoldpointSession } from "./holdpoint-session.js";
import { isAsking } from "./merge-stored.js";
import { useDecisionsElsewhere } from "./use-decisions-elsewhere.js";
import { useStored } from "./use-stored.js";

/**
 * How the chat speaks to the server. `sse`: `POST /stream`. `live`: the WebSocket `/live`. `ai-sdk`: `POST /api/chat`, as a stock
 * `useChat` does. `ai-sdk-ws`: the WebSocket `/api/chat/ws` of `ai` 7.
 */
export type HoldpointMode = "sse" | "live" | "ai-sdk" | "ai-sdk-ws";

/** Settings of the live transport. */
export type LiveSettings = Pick<
  LiveChatTransportOptions,
  "text" | "answerTimeoutMs" | "maxAttempts" | "pingIntervalMs"
>;

/** Options of {@link useHoldpoint}. Another chat, mode, address or key makes a new session; handlers and callbacks may change at every rendering. */
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
    /** For `ai-sdk-ws`: `WebSocketChatTransport` of `ai` 7. Given by whoever uses it, so that nobody else has it in the bundle. */
    webSocketTransport?: WebSocketTransportClass | undefined;
    /** More settings of the live transport. */
    live?: LiveSettings | undefined;
  };

/** Everything that `useChat` returns, and what Holdpoint adds. `stop` also stops a turn that waits. */
export type UseHoldpointHelpers<UI_MESSAGE extends UIMessage = UIMessage> = UseChatHelpers<UI_MESSAGE> & {
  /** The live connection and its round trip; in other modes `undefined`. */
  connection: LiveConnection | undefined;
  /** The server's tools, once they are known. */
  tools: ToolSpec[] | undefined;
  /** Why a call of this browser failed, or why its result did not reach the server. */
  toolErrors: Readonly<Record<ToolCallId, Error>>;
  /** How the calls of this browser go. */
  toolRuns: Readonly<Record<ToolCallId, ToolReport>>;
  /** Answers a question with yes. */
  approve: (approvalId: ApprovalId, reason?: string) => Promise<void>;
  /** Answers a question with no. */
  deny: (approvalId: ApprovalId, reason?: string) => Promise<void>;
  /** Runs a call of this browser once more. */
  retryTool: (toolCallId: ToolCallId) => Promise<void>;
};

/**
 * A chat with a Holdpoint server: `useChat` with the transport, the auto-send and the frontend tools of the mode. Whoever unmounts it
 * leaves the turn to the server, and picks it up by using the hook with the same chat again.
 */
export function useHoldpoint<UI_MESSAGE extends UIMessage = UIMessage>(
  options: UseHoldpointOptions<UI_MESSAGE>,
): UseHoldpointHelpers<UI_MESSAGE> {
  const { mode, chatId, baseUrl, apiKey, fetch, ticket, events, webSocket, webSocketTransport } = options;
  const latest = useRef(options);
  latest.current = options;
  // Written in place these are new objects at every rendering: only their content makes another session.
  const contents = JSON.stringify([options.headers ?? {}, options.live ?? {}]);
  const server = useMemo((): LiveChatTransportOptions => {
    const [headers, live] = JSON.parse(contents) as [Record<string, string>, LiveSettings];
    return { ...live, headers, chatId, baseUrl, apiKey, fetch, ticket, events, webSocket };
  }, [contents, chatId, baseUrl, apiKey, fetch, ticket, events, webSocket]);
  const session = useMemo(() => {
    const handlers = () => latest.current.handlers ?? {};
    return new HoldpointSession<UI_MESSAGE>(
      mode,
      { ...server, webSocketTransport },
      { handlers, onChunk: (chunk) => latest.current.onChunk?.(chunk) },
    );
  }, [mode, server, webSocketTransport]);
  const { connection, tools, toolRuns, unread } = useSyncExternalStore(
    session.subscribe,
    session.getState,
    session.getState,
  );
  // Before useChat, whose own cleanup stops the response: the transport is closed by then, so that the turn goes on.
  useEffect(() => session.start(), [session]);

  const chat = useChat<UI_MESSAGE>({
    id: chatId,
    transport: session.transport,
    sendAutomaticallyWhen: session.shouldSend,
    resume: options.resume ?? true,
    ...(options.initialMessages !== undefined && { messages: options.initialMessages }),
    onError: (error) => latest.current.onError?.(error),
    onFinish: (event) => latest.current.onFinish?.(event),
    onData: (part) => latest.current.onData?.(part),
  });
  const { messages, status, addToolOutput, resumeStream } = chat;
  const isIdle = status === "ready" || status === "error";

  // biome-ignore lint/correctness/useExhaustiveDependencies: what may run changes when the tools become known.
  useEffect(() => {
    session.executor.observe(messages, addToolOutput as AddToolOutput);
  }, [session, messages, addToolOutput, tools]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `unread` says that there is something new to look for.
  useEffect(() => {
    if (isIdle && session.live?.hasUnread) void resumeStream();
  }, [session, isIdle, unread, resumeStream]);

  const { sync, stop } = useStored({ chat, session, server });
  useDecisionsElsewhere({ isAsking: isIdle && isAsking(messages.at(-1)), server, sync });

  const { addToolApprovalResponse } = chat;
  const [approve, deny] = useMemo(() => {
    const answer = (approved: boolean) => async (id: ApprovalId, reason?: string) =>
      addToolApprovalResponse({ id, approved, ...(reason !== undefined && { reason }) });
    return [answer(true), answer(false)] as const;
  }, [addToolApprovalResponse]);
  const toolErrors = useMemo(() => errorsOf(toolRuns), [toolRuns]);
  const retryTool = useCallback((toolCallId: ToolCallId) => session.executor.retry(toolCallId), [session]);
  return { ...chat, id: chatId, stop, approve, deny, connection, tools, toolRuns, toolErrors, retryTool };
}

function errorsOf(runs: Readonly<Record<ToolCallId, ToolReport>>): Record<ToolCallId, Error> {
  return Object.fromEntries(
    Object.values(runs).flatMap(({ toolCallId, error }) => (error ? [[toolCallId, error]] : [])),
  );
}
