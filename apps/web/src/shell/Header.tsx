import { useChats } from "holdpoint/react";
import { Activity, Inbox, Menu, PanelRight } from "lucide-react";
import { useContext } from "react";
import { useServer } from "../api/server";
import { ApprovalsContext, useWaitingCount } from "../inbox/ApprovalsContext";
import type { Mode } from "../modes";
import { Untrusted } from "../text/Untrusted";
import { ModeSwitch } from "./ModeSwitch";
import { type DockTab, navigate, type Route } from "./route";

interface Props {
  route: Route;
  onMenu: () => void;
}

export function Header({ route, onMenu }: Props) {
  const { chats } = useChats(useServer());
  const { staleSince } = useContext(ApprovalsContext);
  const waiting = useWaitingCount();
  const title = route.isNew ? "New chat" : (chats?.find(({ id }) => id === route.chatId)?.title ?? "Chat");
  const toggle = (tab: DockTab) => navigate({ dock: route.dock === tab ? undefined : tab });
  return (
    <header className="header">
      <button type="button" className="icon-button header__menu" aria-label="Chats" onClick={onMenu}>
        <Menu size={18} aria-hidden="true" />
      </button>
      <h1 className="header__title">
        <Untrusted text={title} />
      </h1>
      <ModeSwitch mode={route.mode} onChange={(mode: Mode) => navigate({ mode })} />
      <div className="header__docks" role="toolbar" aria-label="Panels">
        <button
          type="button"
          className="icon-button header__dock"
          aria-label={approvalsLabel(waiting, staleSince !== undefined)}
          aria-pressed={route.dock === "approvals"}
          title="Approvals of all chats"
          onClick={() => toggle("approvals")}
        >
          <Inbox size={18} aria-hidden="true" />
          {waiting !== undefined && (
            <span className="badge header__badge" data-stale={staleSince !== undefined} aria-hidden="true">
              {waiting}
            </span>
          )}
        </button>
        <button
          type="button"
          className="icon-button"
          aria-label="Pages"
          aria-pressed={route.dock === "pages"}
          title="Pages that the assistant opened"
          onClick={() => toggle("pages")}
        >
          <PanelRight size={18} aria-hidden="true" />
        </button>
        <button
          type="button"
          className="icon-button"
          aria-label="Inspector"
          aria-pressed={route.dock === "inspector"}
          title="Network traffic of this chat"
          onClick={() => toggle("inspector")}
        >
          <Activity size={18} aria-hidden="true" />
        </button>
      </div>
    </header>
  );
}

function approvalsLabel(waiting: string | undefined, isStale: boolean): string {
  const words = ["Approvals", ...(waiting ? [`${waiting} waiting`] : []), ...(isStale ? ["not up to date"] : [])];
  return words.join(", ");
}
