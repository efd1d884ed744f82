import { Chat, type UseChatHelpers, useChat } from "@ai-sdk/react";
import type { ChatInit, ChatTransport, UIMessage } from "ai";
import { useCallback, useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import type { ApprovalId, ChatHold, ChatId, Chunk, MessageId, ToolCallId } from "../protocol.js";
import type { DecisionProgress } from "../server/decider.js";
import type { ListedCalls } from "../server/fetch-holds.js";
import type { ServerStatus } from "../server/reachability.js";
import type { ServerOptions } from "../server/server-options.js";
import type { ToolSpec } from "../server/tool-spec.js";
import type { ToolProgress } from "../tools/frontend-tool-executor.js";
import type { ToolHandlers } from "../tools/tool-handler.js";
import type { LiveChatTransportOptions } from "../transport/live-chat-transport.js";
import type { LiveConnection } from "../transport/live-connection.js";
import { ChatFollower } from "./chat-follower.js";
import type { WebSocketTransportClass } from "./create-transport.js";
import { HoldpointSession } from "./holdpoint-session.js";
import { useServerOptions } from "./use-server-options.js";
import { type SubmissionHelpers, useSubmissions } from "./use-submissions.js";
import { type TurnControls, useTurn } from "./use-turn.js";

/**
 * The endpoint a chat uses. `sse`: `POST /stream`. `live`: the WebSocket `/live`. `ai-sdk`: `POST /api/chat`, like a
 * stock `useChat`. `ai-sdk-ws`: the WebSocket `/api/chat/ws` of `ai` 7.
 */
export type HoldpointMode = "sse" | "live" | "ai-sdk" | "ai-sdk-ws";

/** Settings of the live transport. */
export type LiveSettings = Pick<
  LiveChatTransportOptions,
  "text" | "answerTimeoutMs" | "maxAttempts" | "pingIntervalMs"
>;

/**
 * Options of {@link useHoldpoint}. A different chat, mode, address or key starts a new session; handlers and callbacks
 * may change on every render.
 */
export type UseHoldpointOptions<UI_MESSAGE extends UIMessage = UIMessage> = ServerOptions &
  Pick<ChatInit<UI_MESSAGE>, "onError" | "onFinish" | "onData"> & {
    mode: HoldpointMode;
    chatId: ChatId;
    /**
     * Frontend tool handlers by tool name. If set, calls of any other frontend tool fail at once when this page started
     * the turn or approved the call. If omitted, this page neither runs nor fails calls: another page may run them.
     */
    handlers?: ToolHandlers | undefined;
    /** Which calls `holds` lists. Default: those that are or were held. */
    calls?: ListedCalls | undefined;
    /**
     * The initial messages, such as those of `fetchMessages`. If omitted, they are read from the server. An empty list
     * means that the chat is new: nothing is read until something is sent.
     */
    initialMessages?: UI_MESSAGE[] | undefined;
    /**
     * Whether to resume a running response that this hook is not reading: on mount, from another tab, after a lost
     * connection. Default: true.
     */
    resume?: boolean | undefined;
    /** Called with every chunk from the server, for an inspector. */
    onChunk?: ((chunk: Chunk | "[DONE]") => void) | undefined;
    /** The WebSocket class for `live` and `ai-sdk-ws`. */
    webSocket?: LiveChatTransportOptions["webSocket"];
    /** For `ai-sdk-ws`: `WebSocketChatTransport` of `ai` 7. Passed in, so that other bundles do not include it. */
    webSocketTransport?: WebSocketTransportClass | undefined;
    /** More settings of the live transport. */
    live?: LiveSettings | undefined;
  };

/** The progress of a stop. */
export type StopProgress =
  /** The stop request is being sent. */
  | { state: "sending" }
  /** The stop request failed: the turn may still be running. */
  | { state: "failed"; error: Error };

/**
 * Everything `useChat` returns, plus Holdpoint's additions. A call's state is the server's record: an answer is shown
 * once the server has it.
 */
export type UseHoldpointHelpers<UI_MESSAGE extends UIMessage = UIMessage> = UseChatHelpers<UI_MESSAGE> &
  SubmissionHelpers<UI_MESSAGE> &
  TurnControls & {
    /** Whether the server responds, and since when. */
    server: ServerStatus;
    /** The chat's holds with their decisions and outcomes; `undefined` until they are first read. */
    holds: ChatHold[] | undefined;
    /** This page's decisions by approval request: in this chat, in other chats and in the inbox. */
    decisions: Readonly<Record<ApprovalId, DecisionProgress>>;
    /** The progress of the last stop, until it is done. */
    stopping: StopProgress | undefined;
    /** Messages that are shown but not stored, because their request failed. */
    unsent: readonly MessageId[];
    /** The live connection and its round trip; `undefined` in other modes. */
    connection: LiveConnection | undefined;
    /** The server's tools, once they are known. */
    tools: ToolSpec[] | undefined;
    /** Why a frontend call failed, or why its result did not reach the server. */
    toolErrors: Readonly<Record<ToolCallId, Error>>;
    /** The progress of the frontend calls. */
    toolRuns: Readonly<Record<ToolCallId, ToolProgress>>;
    /** Runs a frontend call again. */
    retryTool: (toolCallId: ToolCallId) => Promise<void>;
  };

/**
 * A chat with a Holdpoint server: `useChat` with the mode's transport, auto-send and frontend tools. Unmounting leaves
 * the turn running on the server; mounting the hook with the same chat resumes it.
 */
export function useHoldpoint<UI_MESSAGE extends UIMessage = UIMessage>(
  options: UseHoldpointOptions<UI_MESSAGE>,
): UseHoldpointHelpers<UI_MESSAGE> {
  const { mode, chatId } = options;
  const latest = useRef(options);
  latest.current = options;
  const stable = useServerOptions(options);
  // An inline object is new on every render: only a change in content creates a new session.
  const live = JSON.stringify(options.live ?? {});
  const server = useMemo(
    (): LiveChatTransportOptions => ({
      ...(JSON.parse(live) as LiveSettings),
      ...stable,
      chatId,
      // A class may be inline too. A session keeps the one that it began with.
      webSocket: latest.current.webSocket,
    }),
    [stable, live, chatId],
  );
  const session = useMemo(
    () =>
      new HoldpointSession<UI_MESSAGE>(
        mode,
        { ...server, webSocketTransport: latest.current.webSocketTransport },
        {
          handlers: () => latest.current.handlers,
          onChunk: (chunk) => latest.current.onChunk?.(chunk),
          isNew: () => latest.current.initialMessages?.length === 0,
        },
      ),
    [mode, server],
  );
  const state = useSyncExternalStore(session.subscribe, session.getState, session.getState);
  const { connection, tools, toolRuns, holds, unsent, stopping, unread } = state;
  const { decider } = session;
  const decisions = useSyncExternalStore(decider.subscribe, decider.getDecisions, decider.getDecisions);
  const { subscribe, getStatus } = session.server.reachability;
  const serverStatus = useSyncExternalStore(subscribe, getStatus, getStatus);
  // Must precede the effect that stops the response: the transport is closed by then, so the turn continues.
  useEffect(() => session.start(), [session]);

  const sessionRef = useRef(session);
  sessionRef.current = session;
  // What is rendered lags behind the chat, whose messages and status may have changed since. Nothing may be decided by,
  // or merged into, what was rendered last: the chat itself is what the rest of the hook reads.
  const current = useMemo(
    () =>
      new Chat<UI_MESSAGE>({
        id: chatId,
        transport: transportOf(() => sessionRef.current.transport),
        sendAutomaticallyWhen: (state) => sessionRef.current.shouldSend(state),
        ...(latest.current.initialMessages !== undefined && { messages: latest.current.initialMessages }),
        onError: (error) => latest.current.onError?.(error),
        onFinish: (event) => latest.current.onFinish?.(event),
        onData: (part) => latest.current.onData?.(part),
      }),
    [chatId],
  );
  useEffect(() => () => void current.stop(), [current]);
  const chat = useChat<UI_MESSAGE>({ chat: current, resume: options.resume ?? true });
  const { messages, status, resumeStream } = chat;
  const isIdle = status === "ready" || status === "error";

  const follower = useMemo(
    () =>
      new ChatFollower<UI_MESSAGE>({
        session,
        server,
        chat: current,
        calls: () => latest.current.calls,
        mayResume: () => latest.current.resume ?? true,
      }),
    [session, server, current],
  );
  useEffect(() => follower.start(), [follower]);
  useEffect(() => {
    // More may have changed than the response reported, and a lost response reported nothing.
    if (isIdle) void follower.refresh();
  }, [follower, isIdle]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: which calls may run depends on all of these.
  useEffect(() => {
    session.observe(messages);
  }, [session, messages, tools, holds, decisions]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of `unread` signals new chunks.
  useEffect(() => {
    if (isIdle && session.live?.hasUnread) void resumeStream();
  }, [session, isIdle, unread, resumeStream]);

  const submissions = useSubmissions({ chat: current, session, follower });
  const turn = useTurn({ chat: current, session, follower, server });
  const toolErrors = useMemo(() => errorsOf(toolRuns), [toolRuns]);
  const retryTool = useCallback((toolCallId: ToolCallId) => session.executor.retry(toolCallId), [session]);
  return {
    ...chat,
    ...submissions,
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

/** The transport of the current session. */
function transportOf<UI_MESSAGE extends UIMessage>(
  current: () => ChatTransport<UI_MESSAGE>,
): ChatTransport<UI_MESSAGE> {
  return {
    get resumeStreamIsReplay() {
      return (current() as { resumeStreamIsReplay?: boolean }).resumeStreamIsReplay ?? false;
    },
    sendMessages: (request) => current().sendMessages(request),
    reconnectToStream: (request) => current().reconnectToStream(request),
  };
}

function errorsOf(runs: Readonly<Record<ToolCallId, ToolProgress>>): Record<ToolCallId, Error> {
  return Object.fromEntries(
    Object.values(runs).flatMap(({ toolCallId, error }) => (error ? [[toolCallId, error]] : [])),
  );
}
