import type { ApprovalDecision, SettledDecision } from "holdpoint";
import { describe } from "./describe";
import type { Recorder } from "./recorder";
import { recorderOf } from "./recordings";

/** The recordings of decisions that are being sent. */
const deciding = new Map<string, Recorder>();

/** Makes a decision and records when it was sent and when it was in force: only the latter counts. */
export async function markDecision(
  chatId: string,
  approvalId: string,
  decision: ApprovalDecision,
  decide: () => Promise<SettledDecision>,
): Promise<void> {
  const recorder = recorderOf(chatId);
  // An answer in the tool's place counts as an approval, as in the protocol.
  const mark = { approvalId, approved: decision.approved !== false };
  deciding.set(approvalId, recorder);
  recorder.mark({ type: "sent", ...mark });
  const { state } = await decide();
  deciding.delete(approvalId);
  if (state === "in-force") recorder.mark({ type: "decided", ...mark });
}

/** A `fetch` for the inbox, which records each decision in its own chat. */
export function tapDecisions(inner: typeof fetch): typeof fetch {
  return (input, init) => {
    const { method, path, sent } = describe(input, init);
    const approvalId = /^\/api\/approvals\/([^/]+)$/.exec(path)?.[1];
    if (method === "POST" && approvalId !== undefined) {
      deciding.get(decodeURIComponent(approvalId))?.request(sent);
    }
    return inner(input, init);
  };
}
