import { Trash2 } from "lucide-react";
import { apiFetch } from "../api/http";
import { chatsStore } from "../api/resources";
import type { ChatInfo } from "../api/types";
import { useStore } from "../store";
import { navigate, newChat } from "./route";

interface Props {
  currentId: string;
  onChoose: () => void;
}

export function ChatList({ currentId, onChoose }: Props) {
  const { value: chats, error } = useStore(chatsStore);
  if (chats === undefined) return error === undefined ? <ListSkeleton /> : <p className="chat-list__note">{error}</p>;
  if (chats.length === 0) return <p className="chat-list__note">Your chats will be kept here.</p>;
  const newest = [...chats].sort((a, b) => b.updatedAt.localeCompare(a.updatedAt));
  return (
    <ul className="chat-list">
      {newest.map((chat) => (
        <li key={chat.id} className="chat-list__row" data-current={chat.id === currentId}>
          <button
            type="button"
            className="chat-list__item"
            aria-current={chat.id === currentId ? "page" : undefined}
            onClick={() => {
              navigate({ chatId: chat.id, isNew: false });
              onChoose();
            }}
          >
            <span className="chat-list__title">{chat.title || "Untitled"}</span>
            <ChatState chat={chat} />
          </button>
          <button
            type="button"
            className="icon-button chat-list__delete"
            aria-label={`Delete chat ${chat.title}`}
            title="Delete"
            onClick={() => void deleteChat(chat.id, currentId)}
          >
            <Trash2 size={14} aria-hidden="true" />
          </button>
        </li>
      ))}
    </ul>
  );
}

function ChatState({ chat }: { chat: ChatInfo }) {
  if (chat.holds > 0) return <span className="chat-list__hold">waits</span>;
  if (chat.isRunning) return <span className="chat-list__dot" role="img" aria-label="running" />;
  return null;
}

async function deleteChat(id: string, currentId: string): Promise<void> {
  // First, so that nobody asks for what is not there any more.
  if (id === currentId) newChat();
  await apiFetch(`/api/chat/${encodeURIComponent(id)}`, { method: "DELETE" });
  chatsStore.refresh();
}

function ListSkeleton() {
  return (
    <div className="chat-list chat-list--loading" aria-hidden="true">
      {[82, 64, 71].map((width) => (
        <span key={width} className="skeleton" style={{ width: `${width}%`, height: "0.9rem", margin: "0.65rem" }} />
      ))}
    </div>
  );
}
