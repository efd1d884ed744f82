import { useEffect } from "react";
import { approvalsStore } from "../api/resources";
import { useStore } from "../store";

/** Tells of approvals in chats that nobody is looking at: in the tab's title, and to screen readers. */
export function InboxAnnouncer() {
  const { value: approvals } = useStore(approvalsStore);
  const count = approvals?.length ?? 0;

  useEffect(() => {
    document.title = count > 0 ? `(${count}) Holdpoint` : "Holdpoint";
  }, [count]);

  return (
    <p className="visually-hidden" aria-live="polite">
      {count > 0 && `${count} ${count === 1 ? "approval waits" : "approvals wait"} for you`}
    </p>
  );
}
