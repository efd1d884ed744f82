/** The server's responses, in one place. Their types are generated. */
export type { ChatSummary, ToolSpec } from "holdpoint/protocol";
