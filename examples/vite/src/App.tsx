import { Chat } from "./Chat";
import { chatFromAddress } from "./chatId";
import { Inbox } from "./Inbox";

const { id, isNew } = chatFromAddress();

export function App() {
  return (
    <div className="app">
      <header>
        <h1>Agent</h1>
        <a href="/">New chat</a>
      </header>
      <Chat id={id} isNew={isNew} />
      <Inbox chatId={id} />
    </div>
  );
}
