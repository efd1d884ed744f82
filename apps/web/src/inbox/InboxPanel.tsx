import { useChats, useTools } from "holdpoint/react";
import { Inbox, WifiOff } from "lucide-react";
import { useContext } from "react";
import { useServer } from "../api/server";
import { markDecision } from "../inspector/markDecision";
import { Time } from "../tools/Time";
import { ApprovalsContext } from "./ApprovalsContext";
import { InboxItem } from "./InboxItem";
import { useInboxList } from "./useInboxList";

interface Props {
  currentChatId: string;
}

/**
 * All approval requests that this user can decide, across chats, oldest first, with the outcomes since the inbox was
 * opened.
 */
export function InboxPanel({ currentChatId }: Props) {
  const { approvals, hasMore, loadMore, decide, decisions, staleSince, error } = useContext(ApprovalsContext);
  const server = useServer();
  const { chats } = useChats(server);
  const { tools } = useTools(server);
  const { entries, clear } = useInboxList(approvals);
  const decided = entries.filter(({ isWaiting }) => !isWaiting).length;
  if (approvals === undefined) {
    if (error !== undefined) {
      return (
        <div className="empty" role="alert">
          <WifiOff size={26} aria-hidden="true" />
          <h2>The list could not be loaded</h2>
          <p>The server has not responded yet. Retrying.</p>
        </div>
      );
    }
    return (
      <div className="inbox" aria-hidden="true">
        <span className="skeleton" style={{ height: "8rem" }} />
        <span className="skeleton" style={{ height: "8rem" }} />
      </div>
    );
  }
  return (
    <div className="inbox" data-stale={staleSince !== undefined}>
      {staleSince !== undefined && (
        <p className="inbox__stale" role="status">
          <WifiOff size={15} aria-hidden="true" />
          <span>
            Not up to date since <Time iso={staleSince.toISOString()} />. There may be newer approval requests.
          </span>
        </p>
      )}
      {staleSince === undefined && entries.length === 0 && (
        <div className="empty">
          <Inbox size={26} aria-hidden="true" />
          <h2>Nothing is waiting for you</h2>
          <p>Approval requests from all your chats appear here.</p>
        </div>
      )}
      <ul className="inbox__list" aria-label="Approvals">
        {entries.map((entry) => {
          const { approvalId, chatId, toolName } = entry.approval;
          return (
            <li key={approvalId}>
              <InboxItem
                entry={entry}
                tool={tools?.find(({ name }) => name === toolName)}
                chatTitle={chats?.find(({ id }) => id === chatId)?.title}
                isCurrentChat={chatId === currentChatId}
                progress={decisions[approvalId]}
                decide={(decision) =>
                  void markDecision(chatId, approvalId, decision, () => decide(approvalId, decision))
                }
              />
            </li>
          );
        })}
      </ul>
      {hasMore && (
        <button type="button" className="button inbox__clear" onClick={loadMore}>
          Show more
        </button>
      )}
      {decided > 0 && (
        <button type="button" className="button inbox__clear" onClick={clear}>
          Clear {decided} decided
        </button>
      )}
    </div>
  );
}
