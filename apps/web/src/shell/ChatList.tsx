import { useChats } from "holdpoint/react";
import { Trash2 } from "lucide-react";
import { useState } from "react";
import { useServer } from "../api/server";
import type { ChatSummary } from "../api/types";
import { visible } from "../text/runs";
import { Untrusted } from "../text/Untrusted";
import { WAITING, WAITING_FOR_OTHERS } from "../tools/waiting";
import { DeleteChat } from "./DeleteChat";
import { navigate } from "./route";

interface Props {
  /** `undefined` where no chat is shown. */
  currentId: string | undefined;
  onChoose: () => void;
}

export function ChatList({ currentId, onChoose }: Props) {
  const { chats, error } = useChats(useServer());
  const [doomed, setDoomed] = useState<ChatSummary>();
  if (chats === undefined) {
    if (error === undefined) return <ListSkeleton />;
    return (
      <p className="chat-list__note">
        <Untrusted text={error.message} reading="prose" />
      </p>
    );
  }
  if (chats.length === 0) return <p className="chat-list__note">Your chats will be kept here.</p>;
  return (
    <>
      <ul className="chat-list">
        {chats.map((chat) => (
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
              <span className="chat-list__title">
                <Untrusted text={chat.title || "Untitled"} />
              </span>
              <ChatState chat={chat} />
            </button>
            <button
              type="button"
              className="icon-button chat-list__delete"
              aria-label={`Delete chat ${visible(chat.title)}`}
              title="Delete"
              onClick={() => setDoomed(chat)}
            >
              <Trash2 size={14} aria-hidden="true" />
            </button>
          </li>
        ))}
      </ul>
      {doomed && <DeleteChat chat={doomed} isCurrent={doomed.id === currentId} onClose={() => setDoomed(undefined)} />}
    </>
  );
}

function ChatState({ chat }: { chat: ChatSummary }) {
  if (chat.waitsForYou) return <span className="chat-list__hold">{WAITING}</span>;
  if (chat.holds > 0) return <span className="chat-list__others">{WAITING_FOR_OTHERS}</span>;
  if (chat.isRunning) return <span className="chat-list__dot" role="img" aria-label="running" />;
  return null;
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
