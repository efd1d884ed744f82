import type { ChatId } from "../protocol.js";

/** One chat, as `GET /api/chats` lists it. */
export type ChatSummary = {
  id: ChatId;
  /** The beginning of the first user message. */
  title: string;
  /** ISO 8601. */
  updatedAt: string;
  /** The number of open holds. */
  holds: number;
  /** Whether a turn is running. */
  isRunning: boolean;
};
