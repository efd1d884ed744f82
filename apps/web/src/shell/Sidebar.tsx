import { SquarePen } from "lucide-react";
import { Brand } from "./Brand";
import { ChatList } from "./ChatList";
import { newChat } from "./route";
import { ServerNode } from "./ServerNode";
import { ThemeSwitch } from "./ThemeSwitch";

interface Props {
  currentId: string;
  /** Called on a choice, so that a drawer can close. */
  onChoose: () => void;
}

export function Sidebar({ currentId, onChoose }: Props) {
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
      <nav className="sidebar__chats" aria-label="Chats">
        <h2 className="sidebar__heading">Chats</h2>
        <ChatList currentId={currentId} onChoose={onChoose} />
      </nav>
      <div className="sidebar__foot">
        <ThemeSwitch />
        <ServerNode />
      </div>
    </div>
  );
}
