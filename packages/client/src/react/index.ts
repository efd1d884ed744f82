export type { WebSocketTransportClass } from "./create-transport.js";
export { type UseApprovalsHelpers, useApprovals } from "./use-approvals.js";
export { type PendingHold, type StopProgress, type UseHoldpointHelpers, useHoldpoint } from "./use-holdpoint.js";
export type { HoldpointMode, LiveSettings, ModeOptions, UseHoldpointOptions } from "./use-holdpoint-options.js";
