export type { WebSocketTransportClass } from "./create-transport.js";
export { type UseApprovalsHelpers, useApprovals } from "./use-approvals.js";
export {
  type HoldpointMode,
  type StopProgress,
  type UseHoldpointHelpers,
  type UseHoldpointOptions,
  useHoldpoint,
} from "./use-holdpoint.js";
