import { Inbox, ServerCog, SquarePen } from "lucide-react";
import { useContext } from "react";
import { ApprovalsContext, useWaitingCount } from "../inbox/ApprovalsContext";
import { Account } from "./Account";
import { Brand } from "./Brand";
import { ChatList } from "./ChatList";
import { inPage } from "./inPage";
import { formatRoute, INBOX, navigate, newChat, type Route, STATUS } from "./route";
import { ServerNode } from "./ServerNode";
import { ThemeSwitch } from "./ThemeSwitch";
import { isAdmin, useMe } from "./useMe";

interface Props {
  route: Route;
  /** Called on a choice, so that a drawer can close. */
  onChoose: () => void;
}

export function Sidebar({ route, onChoose }: Props) {
  const { staleSince } = useContext(ApprovalsContext);
  const waiting = useWaitingCount();
  const { kind } = route.place;
  const me = useMe();
  return (
    <div className="sidebar">
      <div className="sidebar__top">
        <Brand />
      </div>
      <button
        type="button"
        className="button sidebar__new"
        onClick={() => {
          newChat();
          onChoose();
        }}
      >
        <SquarePen size={15} aria-hidden="true" />
        New chat
      </button>
      <a
        className="sidebar__place"
        href={formatRoute({ ...route, place: INBOX })}
        aria-current={kind === "inbox" || kind === "hold" ? "page" : undefined}
        onClick={inPage(() => {
          navigate({ place: INBOX });
          onChoose();
        })}
      >
        <Inbox size={15} aria-hidden="true" />
        Inbox
        {waiting !== undefined && (
          <span className="badge" data-stale={staleSince !== undefined}>
            {waiting}
          </span>
        )}
      </a>
      {isAdmin(me) && (
        <a
          className="sidebar__place"
          href={formatRoute({ ...route, place: STATUS })}
          aria-current={kind === "status" ? "page" : undefined}
          onClick={inPage(() => {
            navigate({ place: STATUS });
            onChoose();
          })}
        >
          <ServerCog size={15} aria-hidden="true" />
          Status
        </a>
      )}
      <nav className="sidebar__chats" aria-label="Chats">
        <h2 className="sidebar__heading">Chats</h2>
        <ChatList currentId={kind === "chat" ? route.chatId : undefined} onChoose={onChoose} />
      </nav>
      <Account />
      <div className="sidebar__foot">
        <ThemeSwitch />
        <ServerNode />
      </div>
    </div>
  );
}
