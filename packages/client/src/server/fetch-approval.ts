import type { ApprovalId, ApprovalRecord, PendingApproval } from "../protocol.js";
import { Server } from "./server.js";
import type { ServerOptions } from "./server-options.js";

/**
 * One open approval request, for everybody who may see it: `allowed` is empty for somebody who may not decide it. Rejects
 * with the status 410 if it has ended, and with 404 if there is none that this user may see.
 */
export async function fetchApproval(
  approvalId: ApprovalId,
  options: ServerOptions & { signal?: AbortSignal | undefined } = {},
): Promise<PendingApproval> {
  const path = `/api/approvals/${encodeURIComponent(approvalId)}`;
  return await new Server(options).json<PendingApproval>(path, { signal: options.signal });
}

/**
 * What has become of an approval request: the request, its decision, what runs and what came of it. For everybody who may
 * see it, and whoever has decided it, also after it has ended. Rejects with 404 if there is none that this user may see.
 */
export async function fetchApprovalRecord(
  approvalId: ApprovalId,
  options: ServerOptions & { signal?: AbortSignal | undefined } = {},
): Promise<ApprovalRecord> {
  const path = `/api/approvals/${encodeURIComponent(approvalId)}/record`;
  return await new Server(options).json<ApprovalRecord>(path, { signal: options.signal });
}
