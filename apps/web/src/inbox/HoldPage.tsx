import { useApproval, useChats, useTools } from "holdpoint/react";
import { SearchX, WifiOff } from "lucide-react";
import { useRef } from "react";
import { useServer } from "../api/server";
import { markDecision } from "../inspector/markDecision";
import { INBOX, navigate } from "../shell/route";
import type { ApprovalKeys } from "../tools/ApprovalActions";
import { decisionFetch } from "./ApprovalsContext";
import { ReviewPane } from "./ReviewPane";
import { useKeys } from "./useKeys";

/** One approval request, by a link to it: while it waits, and afterwards with what has become of it. */
export function HoldPage({ approvalId }: { approvalId: string }) {
  const server = useServer();
  const about = useApproval(approvalId, { ...server, fetch: decisionFetch });
  const { approval, record, isOpen, error, decide, progress } = about;
  const keys = useRef<ApprovalKeys>(null);
  useKeys({
    approve: () => keys.current?.approve(),
    deny: () => keys.current?.deny(),
    edit: () => keys.current?.edit(),
    answer: () => keys.current?.answer(),
  });
  const { tools } = useTools(server);
  const { chats } = useChats(server);
  const toInbox = (
    <button type="button" className="button" onClick={() => navigate({ place: INBOX })}>
      All that waits for me
    </button>
  );
  if (approval !== undefined) {
    return (
      <div className="hold">
        <ReviewPane
          key={approvalId}
          keys={keys}
          entry={approval}
          tool={tools?.find(({ name }) => name === approval.toolName)}
          chatTitle={chats?.find(({ id }) => id === approval.chatId)?.title}
          progress={progress}
          decide={(decision) => void markDecision(approval.chatId, approvalId, decision, () => decide(decision))}
          isOpen={isOpen !== false}
          // Without it the chat was deleted: what was shown is no longer what the server has.
          record={error?.status === 404 ? undefined : record}
          isMissing={error?.status === 404}
          after={toInbox}
        />
      </div>
    );
  }
  if (error?.status === 404) {
    return (
      <div className="empty hold__note" role="status">
        <SearchX size={28} aria-hidden="true" />
        <h2>There is no such request</h2>
        <p>The link is wrong, or the request has other approvers. Ask the person who sent it to you.</p>
        {toInbox}
      </div>
    );
  }
  if (error !== undefined && error.status !== 401) {
    return (
      <div className="empty hold__note" role="alert">
        <WifiOff size={28} aria-hidden="true" />
        <h2>The request could not be loaded</h2>
        <p>The server has not responded yet. Retrying.</p>
      </div>
    );
  }
  return (
    <div className="waiting__skeleton" aria-hidden="true">
      <span className="skeleton" />
      <span className="skeleton" />
    </div>
  );
}
