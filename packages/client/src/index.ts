export { type AutoSend, sendAutomaticallyWhen } from "./auto-send/send-automatically-when.js";
export {
  type AutoSendContext,
  type AutoSendMessage,
  type AutoSendResult,
  type SubmissionKey,
  shouldAutoSend,
} from "./auto-send/should-auto-send.js";
export type { Grant, IdentityRole, Me, Remember, ServerEvent, ToolExecution, ToolSpec } from "./protocol.js";
export type { ApprovalDecision } from "./server/approval-decision.js";
export { ApprovalsClient, type ApprovalsListener } from "./server/approvals-client.js";
export type { ApprovalsFilter } from "./server/approvals-filter.js";
export { Backoff } from "./server/backoff.js";
export { type CheckProfile, checkCapture } from "./server/check-capture.js";
export { serverNow } from "./server/clock.js";
export { Decider, type DecisionProgress, type SettledDecision } from "./server/decider.js";
export { deleteChat } from "./server/delete-chat.js";
export { type EarlierAttempts, earlierAttempts } from "./server/earlier-attempts.js";
export { type EventsListener, type EventsSource, watchEvents } from "./server/events.js";
export { fetchApproval, fetchApprovalRecord } from "./server/fetch-approval.js";
export { type AuditFilter, fetchAudit } from "./server/fetch-audit.js";
export { fetchChats } from "./server/fetch-chats.js";
export { callOfFile, fetchFile } from "./server/fetch-file.js";
export { fetchHolds, type ListedCalls } from "./server/fetch-holds.js";
export { fetchMe } from "./server/fetch-me.js";
export { fetchMessages } from "./server/fetch-messages.js";
export { fetchStatus } from "./server/fetch-status.js";
export { fetchTools } from "./server/fetch-tools.js";
export { fetchGrants, revokeGrant } from "./server/grants.js";
export {
  type ClientErrorCode,
  HoldpointError,
  type HoldpointErrorCode,
  type ProblemCode,
} from "./server/holdpoint-error.js";
export type { ServerStatus } from "./server/reachability.js";
export type { Resolvable, ServerOptions } from "./server/server-options.js";
export { stopChat } from "./server/stop-chat.js";
export { watchServer } from "./server/watch-server.js";
export { askUser, type UserAnswer, type UserPrompt } from "./tools/ask-user.js";
export { changeBgm } from "./tools/change-bgm.js";
export {
  FrontendToolExecutor,
  type FrontendToolExecutorOptions,
  type ToolProgress,
  type ToolResult,
} from "./tools/frontend-tool-executor.js";
export { type FoundLocation, getLocation } from "./tools/get-location.js";
export { type OpenedUrl, type OpenUrlRequest, openUrl } from "./tools/open-url.js";
export { settledMetadata } from "./tools/settled-metadata.js";
export type { FrontendCall, HandledCall, ToolHandler, ToolHandlers, ToolHandlersOf } from "./tools/tool-handler.js";
export { LiveChatTransport, type LiveChatTransportOptions } from "./transport/live-chat-transport.js";
export type { LiveConnection } from "./transport/live-connection.js";
export { type FailedAt, type TransportWatcher, watchTransport } from "./transport/watch-transport.js";
