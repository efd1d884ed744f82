/** The server's responses, in one place: their types come from the client. */
export type { ChatSummary, ToolSpec } from "holdpoint";
