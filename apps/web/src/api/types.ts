/** A tool as `GET /api/tools` describes it. */
export interface ToolInfo {
  name: string;
  title?: string;
  description?: string;
  inputSchema?: { properties?: Record<string, { description?: string; title?: string }> };
  execution: "server" | "frontend" | "delegate";
  approval: unknown;
  approvalTimeoutSec?: number;
  timeoutSec?: number;
}

/** A chat as `GET /api/chats` lists it. */
export interface ChatInfo {
  id: string;
  title: string;
  updatedAt: string;
  holds: number;
  isRunning: boolean;
}

/** What `GET /api/events` says. */
export type ServerEvent =
  | { type: "ready" }
  | { type: "missed" }
  | { type: "chat"; chatId: string }
  | { type: "approvals"; chatId: string };
