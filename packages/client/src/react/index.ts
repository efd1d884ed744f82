export type { WebSocketTransportClass } from "./create-transport.js";
export type { HistoryStatus } from "./holdpoint-session.js";
export { type UseApprovalsHelpers, useApprovals } from "./use-approvals.js";
export { type UseChatsHelpers, useChats } from "./use-chats.js";
export { type PendingHold, type StopProgress, type UseHoldpointHelpers, useHoldpoint } from "./use-holdpoint.js";
export type { HoldpointMode, LiveSettings, ModeOptions, UseHoldpointOptions } from "./use-holdpoint-options.js";
export { useHolds } from "./use-holds.js";
export { useServerStatus } from "./use-server-status.js";
export { type UseToolsHelpers, useTools } from "./use-tools.js";
