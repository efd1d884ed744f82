import type { CheckProfile } from "holdpoint";
import type { HoldpointMode } from "holdpoint/react";

/** The four modes of a chat: the same chat over different endpoints. */
export const MODES = ["sse", "live", "ai-sdk", "ai-sdk-ws"] as const satisfies readonly HoldpointMode[];

export type Mode = HoldpointMode;

interface ModeInfo {
  label: string;
  short: string;
  endpoint: string;
  hint: string;
  profile: CheckProfile;
}

export const MODE_INFO: Record<Mode, ModeInfo> = {
  sse: {
    label: "SSE",
    short: "SSE",
    endpoint: "POST /stream",
    hint: "adk profile, one response for each request",
    profile: "adk-sse",
  },
  live: {
    label: "Live",
    short: "Live",
    endpoint: "WebSocket /live",
    hint: "adk profile, one connection for the chat",
    profile: "adk-live",
  },
  "ai-sdk": {
    label: "AI SDK · HTTP",
    short: "SDK HTTP",
    endpoint: "POST /api/chat",
    hint: "what a stock useChat speaks",
    profile: "ai-sdk",
  },
  "ai-sdk-ws": {
    label: "AI SDK · WebSocket",
    short: "SDK WS",
    endpoint: "WebSocket /api/chat/ws",
    hint: "the SDK's WebSocketChatTransport",
    profile: "ai-sdk",
  },
};

export function isMode(value: unknown): value is Mode {
  return MODES.some((mode) => mode === value);
}
