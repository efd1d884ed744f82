import { useContext, useEffect } from "react";
import { ApprovalsContext } from "./ApprovalsContext";
import { badgeText, setBadge } from "./badge";

/** Announces approval requests in other chats, in the tab's title and icon and to screen readers. */
export function InboxAnnouncer() {
  const { approvals, hasMore, staleSince } = useContext(ApprovalsContext);
  const count = approvals?.length ?? 0;
  const isStale = staleSince !== undefined;
  const number = hasMore ? `${count}+` : String(count);
  const badge = isStale ? undefined : badgeText(count, hasMore);

  useEffect(() => {
    if (isStale) document.title = "Holdpoint (not connected)";
    else document.title = count > 0 ? `(${number}) Holdpoint` : "Holdpoint";
  }, [count, number, isStale]);
  useEffect(() => setBadge(badge), [badge]);

  return (
    <p className="visually-hidden" aria-live="polite">
      {count > 0 && !isStale && `${number} ${count === 1 ? "approval is waiting" : "approvals are waiting"} for you`}
    </p>
  );
}
