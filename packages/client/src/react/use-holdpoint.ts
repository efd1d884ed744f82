import { Chat, type UseChatHelpers, useChat } from "@ai-sdk/react";
import type { ChatTransport, UIMessage } from "ai";
import { useCallback, useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import type { CallStatus } from "../calls/call-status.js";
import type { ApprovalId, ChatHold, MessageId, ToolCallId, ToolSpec } from "../protocol.js";
import type { DecisionProgress } from "../server/decisions.js";
import { asHoldpointError, type HoldpointError } from "../server/holdpoint-error.js";
import type { ServerStatus } from "../server/reachability.js";
import { withEditedInputs } from "../tools/edited-inputs.js";
import type { ToolProgress } from "../tools/frontend-tool-executor.js";
import type { ToolHandlers } from "../tools/tool-handler.js";
import type { LiveSessionOptions } from "../transport/live-chat-transport.js";
import type { LiveConnection } from "../transport/live-connection.js";
import { ChatFollower } from "./chat-follower.js";
import { type HistoryStatus, HoldpointSession } from "./holdpoint-session.js";
import { useCallStatus } from "./use-call-status.js";
import { useClient } from "./use-client.js";
import type { LiveSettings, UseHoldpointOptions } from "./use-holdpoint-options.js";
import { type SubmissionHelpers, useSubmissions } from "./use-submissions.js";
import { type TurnControls, useTurn } from "./use-turn.js";

/** The progress of a stop. */
export type StopProgress =
  /** The stop request is being sent. */
  | { state: "sending" }
  /** The stop request failed: the turn may still be running. */
  | { state: "failed"; error: HoldpointError };

/**
 * Everything `useChat` returns, plus Holdpoint's additions. A call's state is the server's record: an answer is shown
 * once the server has it.
 */
export type UseHoldpointHelpers<UI_MESSAGE extends UIMessage = UIMessage> = Omit<
  UseChatHelpers<UI_MESSAGE>,
  "error" | "stop"
> &
  SubmissionHelpers<UI_MESSAGE> &
  TurnControls & {
    /** Why the last request or response failed. `retry` tries again. */
    error: HoldpointError | undefined;
    /** Whether the server responds, and since when. */
    server: ServerStatus;
    /** The chat's holds with their decisions and outcomes; `undefined` until they are first read. */
    holds: ChatHold[] | undefined;
    /** How far the chat's stored messages have been read: for a placeholder, and for why they could not be read. */
    history: HistoryStatus;
    /** The approval requests of this chat that nobody has decided. */
    pendingApprovals: PendingHold[];
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
    /** What is going on with a call of this chat, by all that the hook knows of it. */
    callStatus: (toolCallId: ToolCallId) => CallStatus;
  };

/**
 * A chat with a Holdpoint server: `useChat` with the mode's transport, auto-send and frontend tools. Unmounting leaves
 * the turn running on the server; mounting the hook with the same chat resumes it.
 */
export function useHoldpoint<UI_MESSAGE extends UIMessage = UIMessage>(
  options: UseHoldpointOptions<UI_MESSAGE>,
): UseHoldpointHelpers<UI_MESSAGE> {
  const { mode = "ai-sdk", id: chatId } = options;
  const latest = useRef(options);
  latest.current = options;
  const client = useClient(options);
  // An inline object is new on every render: only a change in content creates a new session.
  const live = JSON.stringify(options.live ?? {});
  const server = useMemo(
    (): LiveSessionOptions => ({
      ...(JSON.parse(live) as LiveSettings),
      ...client.options,
      chatId,
      // A class may be inline too. A session keeps the one that it began with.
      webSocket: latest.current.webSocket,
    }),
    [client, live, chatId],
  );
  const session = useMemo(
    () =>
      new HoldpointSession<UI_MESSAGE>(
        mode,
        { ...server, webSocketTransport: latest.current.webSocketTransport },
        {
          // A handler gets only calls of its own tool, whose input has the tool's type.
          handlers: () => latest.current.handlers as ToolHandlers | undefined,
          onChunk: (chunk) => latest.current.onChunk?.(chunk),
          isNew: () => latest.current.history === false || latest.current.messages?.length === 0,
        },
      ),
    [mode, server],
  );
  const state = useSyncExternalStore(session.subscribe, session.getState, session.getState);
  const { connection, tools, toolRuns, holds, history, unsent, stopping, unread, editedInputs } = state;
  const { approvals } = session;
  const decisions = useSyncExternalStore(approvals.subscribe, approvals.getDecisions, approvals.getDecisions);
  const { subscribe, getStatus } = session.server.reachability;
  const serverStatus = useSyncExternalStore(subscribe, getStatus, getStatus);
  // Must precede the effect that stops the response: the transport is closed by then, so the turn continues.
  useEffect(() => session.start(), [session]);

  const sessionRef = useRef(session);
  sessionRef.current = session;
  // Another key is another user, who must not see what this one was shown: the chat starts empty, and the history that
  // the key may read is loaded. Neither are the given messages theirs.
  const first = useRef({ chatId, client });
  if (first.current.chatId !== chatId) first.current = { chatId, client };
  // What is rendered lags behind the chat, whose messages and status may have changed since. Nothing may be decided by,
  // or merged into, what was rendered last: the chat itself is what the rest of the hook reads.
  const current = useMemo(
    () =>
      new Chat<UI_MESSAGE>({
        id: chatId,
        transport: transportOf(() => sessionRef.current),
        sendAutomaticallyWhen: (state) => sessionRef.current.shouldSend(state),
        ...(latest.current.messages !== undefined &&
          first.current.client === client && { messages: latest.current.messages }),
        onError: (error) => latest.current.onError?.(asHoldpointError(error, "turn-failed")),
        onFinish: (event) => latest.current.onFinish?.(event),
        onData: (part) => latest.current.onData?.(part),
      }),
    [chatId, client],
  );
  useEffect(() => () => void current.stop(), [current]);
  // Of a new chat there is nothing to resume. What it would find is the response to a message that was sent at once, which
  // would arrive twice.
  const isNew = useMemo(
    () => current.messages.length === 0 && (latest.current.history === false || latest.current.messages !== undefined),
    [current],
  );
  const chat = useChat<UI_MESSAGE>({
    chat: current,
    resume: (options.resume ?? true) && !isNew,
    // The name in `ai` 6, which `ai` 7 understands too.
    ...(options.throttle !== undefined && { experimental_throttle: options.throttle }),
  });
  // Another key, or another address: what was being read belongs to the session before.
  const resumed = useRef(session);
  useEffect(() => {
    if (resumed.current === session) return;
    resumed.current = session;
    void current.stop().then(() => {
      if (sessionRef.current === session && (latest.current.resume ?? true)) return current.resumeStream();
    });
  }, [session, current]);
  const { status, resumeStream } = chat;
  // The SDK can't change the input of a call that it has shown, in the middle of a response.
  const messages = useMemo(() => withEditedInputs(chat.messages, editedInputs), [chat.messages, editedInputs]);
  const isIdle = status === "ready" || status === "error";

  const follower = useMemo(
    () =>
      new ChatFollower<UI_MESSAGE>({
        session,
        chatId,
        chat: current,
        calls: () => latest.current.calls,
        mayResume: () => latest.current.resume ?? true,
      }),
    [session, chatId, current],
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
  const turn = useTurn({ chat: current, session, follower, chatId });
  const error = useMemo(() => chat.error && asHoldpointError(chat.error, "turn-failed"), [chat.error]);
  const pendingApprovals = useMemo(() => (holds ?? []).filter(isPending), [holds]);
  const toolErrors = useMemo(() => errorsOf(toolRuns), [toolRuns]);
  const retryTool = useCallback((toolCallId: ToolCallId) => session.executor.retry(toolCallId), [session]);
  const statusOf = useCallStatus({ messages, holds, decisions, toolRuns, tools });
  return {
    ...chat,
    messages,
    ...submissions,
    ...turn,
    id: chatId,
    error,
    server: serverStatus,
    holds,
    history,
    pendingApprovals,
    decisions,
    stopping,
    unsent,
    connection,
    tools,
    toolRuns,
    toolErrors,
    retryTool,
    callStatus: statusOf,
  };
}

/** A hold that waits for a decision. */
export type PendingHold = ChatHold & { approvalId: ApprovalId };

function isPending(hold: ChatHold): hold is PendingHold {
  return hold.kind === "approval" && hold.state === "waiting" && !hold.cut && hold.approvalId !== undefined;
}

/**
 * The transport of the current session. A resume that finds nothing, but only after a message was sent, is left open until
 * the SDK aborts it: the SDK would take its end for that of the message's response, and call the chat ready in the middle
 * of the answer.
 */
function transportOf<UI_MESSAGE extends UIMessage>(
  current: () => HoldpointSession<UI_MESSAGE>,
): ChatTransport<UI_MESSAGE> {
  const transport = () => current().transport;
  let sent = 0;
  return {
    get resumeStreamIsReplay() {
      return (transport() as { resumeStreamIsReplay?: boolean }).resumeStreamIsReplay ?? false;
    },
    sendMessages: (request) => {
      sent++;
      return transport().sendMessages(request);
    },
    reconnectToStream: async (request) => {
      const before = sent;
      const stream = await transport().reconnectToStream(request);
      if (stream === null && sent > before) await aborted(request.abortSignal);
      return stream;
    },
  };
}

function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve();
    else signal?.addEventListener("abort", () => resolve(), { once: true });
  });
}

function errorsOf(runs: Readonly<Record<ToolCallId, ToolProgress>>): Record<ToolCallId, Error> {
  return Object.fromEntries(
    Object.values(runs).flatMap(({ toolCallId, error }) => (error ? [[toolCallId, error]] : [])),
  );
}
