import { useContext, useEffect } from "react";
import { ApprovalsContext, useWaitingCount } from "./ApprovalsContext";
import { setBadge } from "./badge";

/** Announces approval requests in other chats, in the tab's title and icon and to screen readers. */
export function InboxAnnouncer() {
  const { staleSince } = useContext(ApprovalsContext);
  const count = useWaitingCount();
  const isStale = staleSince !== undefined;
  const badge = isStale ? undefined : count;

  useEffect(() => {
    if (isStale) document.title = "Holdpoint (not connected)";
    else document.title = count === undefined ? "Holdpoint" : `(${count}) Holdpoint`;
  }, [count, isStale]);
  useEffect(() => setBadge(badge), [badge]);

  return (
    <p className="visually-hidden" aria-live="polite">
      {badge !== undefined && `${badge} ${badge === "1" ? "approval is waiting" : "approvals are waiting"} for you`}
    </p>
  );
}
