import type { PendingApproval } from "../protocol.js";
import type { ApprovalDecision } from "./approval-decision.js";

/** Binds a decision to the input that was shown: if the call would run with another one, the server refuses it. */
export function asShown(shown: PendingApproval | undefined, decision: ApprovalDecision): ApprovalDecision {
  const inputSha256 = decision.inputSha256 ?? shown?.inputSha256;
  return inputSha256 === undefined ? decision : { ...decision, inputSha256 };
}
