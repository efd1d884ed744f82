export { type AutoSend, sendAutomaticallyWhen } from "./auto-send/send-automatically-when.js";
export { shouldAutoSend } from "./auto-send/should-auto-send.js";
export { type CallContext, type CallStatus, callStatus } from "./calls/call-status.js";
export type { ApprovalDecision } from "./server/approval-decision.js";
export type { ApprovalsFilter } from "./server/approvals-filter.js";
export type { AuditFilter } from "./server/audit.js";
export { callOfFile } from "./server/chats.js";
export type { DecisionProgress, SettledDecision } from "./server/decisions.js";
export type { EventsListener, EventsSource } from "./server/events.js";
export { type CheckProfile, type ClientOrOptions, createHoldpoint, type Holdpoint } from "./server/holdpoint.js";
export { HoldpointError, type HoldpointErrorCode } from "./server/holdpoint-error.js";
export { earlierAttempts } from "./server/holds.js";
export type { HoldpointOptions } from "./server/options.js";
export type { ServerStatus } from "./server/reachability.js";
export { askUser, type UserAnswer, type UserPrompt } from "./tools/ask-user.js";
export {
  FrontendToolExecutor,
  type FrontendToolExecutorOptions,
  type ToolProgress,
} from "./tools/frontend-tool-executor.js";
export type { FrontendCall, HandledCall, ToolHandler, ToolHandlers, ToolHandlersOf } from "./tools/tool-handler.js";
export { LiveChatTransport, type LiveChatTransportOptions } from "./transport/live-chat-transport.js";
export type { LiveConnection } from "./transport/live-connection.js";
