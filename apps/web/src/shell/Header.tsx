import { Activity, Inbox, Menu, PanelRight } from "lucide-react";
import { approvalsStore, chatsStore } from "../api/resources";
import type { Mode } from "../modes";
import { useStore } from "../store";
import { ModeSwitch } from "./ModeSwitch";
import { type DockTab, navigate, type Route } from "./route";

interface Props {
  route: Route;
  onMenu: () => void;
}

export function Header({ route, onMenu }: Props) {
  const { value: chats } = useStore(chatsStore);
  const { value: approvals } = useStore(approvalsStore);
  const title = route.isNew ? "New chat" : (chats?.find(({ id }) => id === route.chatId)?.title ?? "Chat");
  const waiting = approvals?.length ?? 0;
  const toggle = (tab: DockTab) => navigate({ dock: route.dock === tab ? undefined : tab });
  return (
    <header className="header">
      <button type="button" className="icon-button header__menu" aria-label="Chats" onClick={onMenu}>
        <Menu size={18} aria-hidden="true" />
      </button>
      <h1 className="header__title">{title}</h1>
      <ModeSwitch mode={route.mode} onChange={(mode: Mode) => navigate({ mode })} />
      <div className="header__docks" role="toolbar" aria-label="Panels">
        <button
          type="button"
          className="icon-button header__dock"
          aria-label={waiting > 0 ? `Approvals, ${waiting} waiting` : "Approvals"}
          aria-pressed={route.dock === "approvals"}
          title="Approvals of all chats"
          onClick={() => toggle("approvals")}
        >
          <Inbox size={18} aria-hidden="true" />
          {waiting > 0 && (
            <span className="badge header__badge" aria-hidden="true">
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
          title="What passes on the wire"
          onClick={() => toggle("inspector")}
        >
          <Activity size={18} aria-hidden="true" />
        </button>
      </div>
    </header>
  );
}
