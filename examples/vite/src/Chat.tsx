import { useHoldpoint } from "holdpoint/react";
import { type AgentMessage, handlers } from "./agent";
import { Composer } from "./Composer";
import { Connection } from "./Connection";
import { Message } from "./Message";
import { Problem } from "./Problem";

export function Chat({ id, isNew }: { id: string; isNew: boolean }) {
  const chat = useHoldpoint<AgentMessage>({
    mode: "live",
    id,
    handlers,
    // `holds` has every call then, with the reason why it ended.
    calls: "all",
    // The history of a new chat is known. Otherwise the hook reads it, and resumes a running turn.
    messages: isNew ? [] : undefined,
  });
  return (
    <main className="chat">
      <Connection server={chat.server} connection={chat.connection} />
      <div className="transcript">
        <div className="messages">
          {chat.messages.map((message) => (
            <Message key={message.id} message={message} chat={chat} />
          ))}
        </div>
      </div>
      <Problem chat={chat} />
      <Composer chat={chat} />
    </main>
  );
}
