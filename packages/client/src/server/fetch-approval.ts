import type { ApprovalId, PendingApproval } from "../protocol.js";
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
