import { Inbox } from "lucide-react";
import { approvalsStore, chatsStore, toolsStore } from "../api/resources";
import { useStore } from "../store";
import { InboxItem } from "./InboxItem";

interface Props {
  currentChatId: string;
}

/** Everything that waits for this person, in whichever chat, oldest first. */
export function InboxPanel({ currentChatId }: Props) {
  const { value: approvals, error } = useStore(approvalsStore);
  const { value: chats } = useStore(chatsStore);
  const { value: tools } = useStore(toolsStore);
  if (approvals === undefined && error === undefined) {
    return (
      <div className="inbox" aria-hidden="true">
        <span className="skeleton" style={{ height: "8rem" }} />
        <span className="skeleton" style={{ height: "8rem" }} />
      </div>
    );
  }
  return (
    <div className="inbox">
      {error !== undefined && (
        <p className="tool-card__error" role="alert">
          {error}
        </p>
      )}
      {approvals?.length === 0 && (
        <div className="empty">
          <Inbox size={26} aria-hidden="true" />
          <h2>Nothing waits for you</h2>
          <p>Questions from all your chats come together here, also those that you are not looking at.</p>
        </div>
      )}
      <ul className="inbox__list" aria-label="Approvals">
        {approvals?.map((approval) => (
          <li key={approval.approvalId}>
            <InboxItem
              approval={approval}
              tool={tools?.find(({ name }) => name === approval.toolName)}
              chatTitle={chats?.find(({ id }) => id === approval.chatId)?.title}
              isCurrentChat={approval.chatId === currentChatId}
            />
          </li>
        ))}
      </ul>
    </div>
  );
}
