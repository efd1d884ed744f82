import { type UseChatHelpers, useChat } from "@ai-sdk/react";
import type { ChatInit, UIMessage } from "ai";
import { useCallback, useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import type { ApprovalId, ChatHold, ChatId, Chunk, MessageId, ToolCallId } from "../protocol.js";
import type { DecisionReport } from "../server/decider.js";
import type { ListedCalls } from "../server/fetch-holds.js";
import type { ServerStatus } from "../server/reachability.js";
import type { ServerOptions } from "../server/server-options.js";
import type { ToolSpec } from "../server/tool-spec.js";
import type { ToolReport } from "../tools/frontend-tool-executor.js";
import type { ToolHandlers } from "../tools/tool-handler.js";
import type { LiveChatTransportOptions } from "../transport/live-chat-transport.js";
import type { LiveConnection } from "../transport/live-connection.js";
import { ChatFollower } from "./chat-follower.js";
import type { WebSocketTransportClass } from "./create-transport.js";
import { HoldpointSession } from "./holdpoint-session.js";
import { type Answers, useAnswers } from "./use-answers.js";
import { type TurnControls, useTurn } from "./use-turn.js";

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
    /**
     * What runs in this browser, by tool name. Given at all, it is all that this page can do: a call of another tool fails at once, if the
     * turn or its approval came from this page. Left out, this page runs nothing and fails nothing: another one may.
     */
    handlers?: ToolHandlers | undefined;
    /** Which calls `holds` lists. Default: those that wait or waited for somebody. */
    calls?: ListedCalls | undefined;
    /**
     * The messages to begin with, such as those of `fetchMessages`. Left out, they are read from the server; an empty list says that the
     * chat is new, and nothing is read before something is sent.
     */
    initialMessages?: UI_MESSAGE[] | undefined;
    /** Whether to pick up a response that is under way and that this hook does not read: at first use, of another tab, after a loss. Default: yes. */
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

/** How a stop goes. */
export type StopReport =
  /** The server is being told. */
  | { state: "sending" }
  /** The server was not told: the turn may go on. */
  | { state: "failed"; error: Error };

/**
 * Everything that `useChat` returns, and what Holdpoint adds. What it says about a call is what the server holds: an answer is shown when
 * the server has it.
 */
export type UseHoldpointHelpers<UI_MESSAGE extends UIMessage = UIMessage> = UseChatHelpers<UI_MESSAGE> &
  Answers<UI_MESSAGE> &
  TurnControls & {
    /** Whether the server answers, and since when. */
    server: ServerStatus;
    /** What waits in this chat, what was decided about it and how it ended; `undefined` until it was read. */
    holds: ChatHold[] | undefined;
    /** The decisions that were made on this page, by request: in this chat, in others and in the inbox. */
    decisions: Readonly<Record<ApprovalId, DecisionReport>>;
    /** How the last stop goes, until it is done. */
    stopping: StopReport | undefined;
    /** Messages that are shown and that the server does not have, since their request failed. */
    unsent: readonly MessageId[];
    /** The live connection and its round trip; in other modes `undefined`. */
    connection: LiveConnection | undefined;
    /** The server's tools, once they are known. */
    tools: ToolSpec[] | undefined;
    /** Why a call of this browser failed, or why its result did not reach the server. */
    toolErrors: Readonly<Record<ToolCallId, Error>>;
    /** How the calls of this browser go. */
    toolRuns: Readonly<Record<ToolCallId, ToolReport>>;
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
  const session = useMemo(
    () =>
      new HoldpointSession<UI_MESSAGE>(
        mode,
        { ...server, webSocketTransport },
        {
          handlers: () => latest.current.handlers,
          onChunk: (chunk) => latest.current.onChunk?.(chunk),
          isNew: () => latest.current.initialMessages?.length === 0,
        },
      ),
    [mode, server, webSocketTransport],
  );
  const state = useSyncExternalStore(session.subscribe, session.getState, session.getState);
  const { connection, tools, toolRuns, holds, unsent, stopping, unread } = state;
  const { decider } = session;
  const decisions = useSyncExternalStore(decider.subscribe, decider.getReports, decider.getReports);
  const { subscribe, getStatus } = session.server.reachability;
  const serverStatus = useSyncExternalStore(subscribe, getStatus, getStatus);
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
  const { messages, status, resumeStream } = chat;
  const isIdle = status === "ready" || status === "error";
  const chatRef = useRef(chat);
  chatRef.current = chat;

  const follower = useMemo(
    () =>
      new ChatFollower<UI_MESSAGE>({
        session,
        server,
        chat: () => chatRef.current,
        calls: () => latest.current.calls,
        mayResume: () => latest.current.resume ?? true,
      }),
    [session, server],
  );
  useEffect(() => follower.start(), [follower]);
  useEffect(() => {
    // What changed while a response was read may be more than the response told, and one that got lost told nothing.
    if (isIdle) void follower.refresh();
  }, [follower, isIdle]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: what may run changes with the tools and with what waits.
  useEffect(() => {
    session.observe(messages);
  }, [session, messages, tools, holds]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `unread` says that there is something new to look for.
  useEffect(() => {
    if (isIdle && session.live?.hasUnread) void resumeStream();
  }, [session, isIdle, unread, resumeStream]);

  const answers = useAnswers({ chat, session, follower });
  const turn = useTurn({ chat, session, follower, server });
  const toolErrors = useMemo(() => errorsOf(toolRuns), [toolRuns]);
  const retryTool = useCallback((toolCallId: ToolCallId) => session.executor.retry(toolCallId), [session]);
  return {
    ...chat,
    ...answers,
    ...turn,
    id: chatId,
    server: serverStatus,
    holds,
    decisions,
    stopping,
    unsent,
    connection,
    tools,
    toolRuns,
    toolErrors,
    retryTool,
  };
}

function errorsOf(runs: Readonly<Record<ToolCallId, ToolReport>>): Record<ToolCallId, Error> {
  return Object.fromEntries(
    Object.values(runs).flatMap(({ toolCallId, error }) => (error ? [[toolCallId, error]] : [])),
  );
}
