import { useState } from "react";

export type Decide = (decision: { id: string; approved: boolean; reason?: string }) => unknown;

/** The decision about a call that waits for approval. */
export function ApprovalForm({ approval, onDecide }: { approval: { id: string }; onDecide: Decide }) {
  const [reason, setReason] = useState("");
  const decide = (approved: boolean) =>
    onDecide({ id: approval.id, approved, ...(reason.trim() !== "" && { reason: reason.trim() }) });
  return (
    <div className="decision">
      <input
        value={reason}
        onChange={(event) => setReason(event.target.value)}
        placeholder="Reason (optional)"
        aria-label="Reason"
      />
      <button type="button" className="primary" onClick={() => decide(true)}>
        Approve
      </button>
      <button type="button" onClick={() => decide(false)}>
        Deny
      </button>
    </div>
  );
}
