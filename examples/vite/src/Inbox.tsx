import { callStatus, type DecisionProgress } from "holdpoint";
import type { PendingApproval } from "holdpoint/protocol";
import { type UseApprovalsHelpers, useApprovals } from "holdpoint/react";
import { addressOfChat } from "./chatId";
import { Fields } from "./Fields";

/** All approval requests that wait for this user, in every chat. */
export function Inbox({ chatId }: { chatId: string }) {
  const { approvals, decide, decisions, error, staleSince } = useApprovals();
  return (
    <aside className="inbox" aria-label="Inbox">
      <h2>Inbox</h2>
      {staleSince && <p role="alert">Not current since {staleSince.toLocaleTimeString()}</p>}
      {approvals === undefined && <p>{error?.message ?? "Loading…"}</p>}
      {approvals?.length === 0 && <p>Nothing waits for you.</p>}
      {approvals?.map((request) => (
        <Request
          key={request.approvalId}
          request={request}
          isHere={request.chatId === chatId}
          decide={decide}
          decision={decisions[request.approvalId]}
        />
      ))}
    </aside>
  );
}

type RequestProps = {
  request: PendingApproval;
  /** Whether it belongs to the chat on this page. */
  isHere: boolean;
  decide: UseApprovalsHelpers["decide"];
  decision: DecisionProgress | undefined;
};

function Request({ request, isHere, decide, decision }: RequestProps) {
  const { approvalId, chatId, toolName, input, reason } = request;
  const status = callStatus(undefined, { request, decision });
  const isUnderWay = status.kind === "sending" || status.kind === "retrying";
  return (
    <section className="card" data-state={status.kind} data-tone={status.tone} aria-label={toolName}>
      <h3>{toolName}</h3>
      <Fields of={input} />
      <p>{reason}</p>
      <p role={status.trouble && "alert"}>{status.text}</p>
      <div className="actions">
        <button type="button" disabled={isUnderWay} onClick={() => decide(approvalId, { approved: true })}>
          Approve
        </button>
        <button type="button" disabled={isUnderWay} onClick={() => decide(approvalId, { approved: false })}>
          Deny
        </button>
        {isHere ? <span>In this chat</span> : <a href={addressOfChat(chatId)}>Open the chat</a>}
      </div>
    </section>
  );
}
