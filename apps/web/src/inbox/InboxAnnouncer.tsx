import { useContext, useEffect } from "react";
import { ApprovalsContext } from "./ApprovalsContext";

/** Announces approval requests in other chats, in the tab's title and to screen readers. */
export function InboxAnnouncer() {
  const { approvals, staleSince } = useContext(ApprovalsContext);
  const count = approvals?.length ?? 0;
  const isStale = staleSince !== undefined;

  useEffect(() => {
    if (isStale) document.title = "Holdpoint (not connected)";
    else document.title = count > 0 ? `(${count}) Holdpoint` : "Holdpoint";
  }, [count, isStale]);

  return (
    <p className="visually-hidden" aria-live="polite">
      {count > 0 && !isStale && `${count} ${count === 1 ? "approval is waiting" : "approvals are waiting"} for you`}
    </p>
  );
}
