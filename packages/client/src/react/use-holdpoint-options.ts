import type { ChatInit, UIMessage } from "ai";
import type { ChatId, Chunk } from "../protocol.js";
import type { ClientOrOptions } from "../server/holdpoint.js";
import type { HoldpointError } from "../server/holdpoint-error.js";
import type { ListedCalls } from "../server/holds.js";
import type { ToolHandlersOf } from "../tools/tool-handler.js";
import type { LiveOptions } from "../transport/live-chat-transport.js";
import type { WebSocketTransportClass } from "./create-transport.js";

/**
 * The endpoint a chat uses. `ai-sdk`: `POST /api/chat`, like a stock `useChat`. `ai-sdk-ws`: the WebSocket `/api/chat/ws`
 * of `ai` 7. `live`: the WebSocket `/live`. `sse`: `POST /stream`.
 */
export type HoldpointMode = "ai-sdk" | "ai-sdk-ws" | "live" | "sse";

/** Settings of the live transport. */
export type LiveSettings = Pick<LiveOptions, "text" | "answerTimeoutMs" | "maxAttempts" | "pingIntervalMs">;

/** The mode, and what it needs. */
export type ModeOptions =
  | {
      /** Default: `ai-sdk`. */
      mode?: Exclude<HoldpointMode, "ai-sdk-ws"> | undefined;
      webSocketTransport?: WebSocketTransportClass | undefined;
    }
  | {
      mode: "ai-sdk-ws";
      /** `WebSocketChatTransport` of `ai` 7. Passed in, so that other bundles do not include it. */
      webSocketTransport: WebSocketTransportClass;
    };

/**
 * Options of `useHoldpoint`. Those that `useChat` has too have its names. A different chat, mode, address, key or
 * header starts a new session; everything else may change on every render, functions included.
 */
export type UseHoldpointOptions<UI_MESSAGE extends UIMessage = UIMessage> = ModeOptions &
  ClientOrOptions &
  Pick<ChatInit<UI_MESSAGE>, "onFinish" | "onData"> & {
    /** The chat's id. */
    id: ChatId;
    /**
     * The first messages, such as those of `chats.messages`. An empty list means that the chat is new: nothing is read
     * until something is sent.
     */
    messages?: UI_MESSAGE[] | undefined;
    /**
     * Whether to read the chat's stored messages, with open approval requests, when it is opened. What is shown stays
     * until they are there. `false`: nothing is read until something is sent or the chat changes. Default: true.
     */
    history?: boolean | undefined;
    /**
     * Whether to resume a running response that this hook is not reading: on mount, from another tab, after a lost
     * connection. A chat that is new, as it has no `messages` and no `history`, is not resumed on mount. Default: true.
     */
    resume?: boolean | undefined;
    /** The shortest time between two renders of changed messages, in milliseconds. Default: none. */
    throttle?: number | undefined;
    /** Called with every error of a request or a response. */
    onError?: ((error: HoldpointError) => void) | undefined;
    /**
     * Frontend tool handlers by tool name. If set, calls of any other frontend tool fail at once when this page started
     * the turn or approved the call. If omitted, this page neither runs nor fails calls: another page may run them.
     */
    handlers?: ToolHandlersOf<UI_MESSAGE> | undefined;
    /** Which calls `holds` lists. Default: those that are or were held. */
    calls?: ListedCalls | undefined;
    /** Called with every chunk from the server, for an inspector. */
    onChunk?: ((chunk: Chunk | "[DONE]") => void) | undefined;
    /** The WebSocket class for `live` and `ai-sdk-ws`. */
    webSocket?: LiveOptions["webSocket"];
    /** More settings of the live transport. */
    live?: LiveSettings | undefined;
  };
