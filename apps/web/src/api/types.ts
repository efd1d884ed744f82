/** A tool as `GET /api/tools` describes it. */
export interface ToolInfo {
  name: string;
  title?: string;
  description?: string;
  /** A JSON Schema. */
  inputSchema?: unknown;
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
