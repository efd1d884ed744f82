import { useServerStatus } from "holdpoint/react";
import { useState } from "react";
import { keyStore } from "../api/key";
import { useServer } from "../api/server";
import { Session } from "../chat/Session";
import { ApprovalsProvider } from "../inbox/ApprovalsContext";
import { InboxAnnouncer } from "../inbox/InboxAnnouncer";
import { NowPlaying } from "../panel/NowPlaying";
import { useStore } from "../store";
import { ConnectionBanner } from "./ConnectionBanner";
import { Dock } from "./Dock";
import { ErrorBoundary } from "./ErrorBoundary";
import { Header } from "./Header";
import { KeyDialog } from "./KeyDialog";
import { navigate, routeStore } from "./route";
import { Sheet } from "./Sheet";
import { Sidebar } from "./Sidebar";
import { useMedia } from "./useMedia";

export function App() {
  return (
    <ApprovalsProvider>
      <Frame />
    </ApprovalsProvider>
  );
}

function Frame() {
  const route = useStore(routeStore);
  const { generation } = useStore(keyStore);
  const [isMenuOpen, setIsMenuOpen] = useState(false);
  const [isDockWide, setIsDockWide] = useState(false);
  const isNarrow = useMedia("(max-width: 820px)");
  const isMedium = useMedia("(max-width: 1120px)");
  const isCurrent = useServerStatus(useServer()).state !== "unreachable";
  const { chatId, mode, isNew, dock } = route;
  const isDockBeside = dock !== undefined && !isMedium;

  const sidebar = <Sidebar currentId={chatId} onChoose={() => setIsMenuOpen(false)} />;
  const dockView = dock !== undefined && (
    <Dock
      tab={dock}
      chatId={chatId}
      isWide={isDockWide}
      onTab={(tab) => navigate({ dock: tab })}
      onWide={setIsDockWide}
      onClose={() => navigate({ dock: undefined })}
    />
  );
  return (
    <div className="app" data-dock={isDockBeside} data-wide={isDockWide} data-stale={!isCurrent}>
      {isNarrow ? (
        <Sheet title="Chats" side="left" isOpen={isMenuOpen} onClose={() => setIsMenuOpen(false)}>
          {sidebar}
        </Sheet>
      ) : (
        <aside className="app__side" aria-label="Chats and settings">
          {sidebar}
        </aside>
      )}
      <main className="app__main">
        <Header route={route} onMenu={() => setIsMenuOpen(true)} />
        <ConnectionBanner />
        <ErrorBoundary key={`${chatId} ${mode} ${generation}`}>
          <Session
            chatId={chatId}
            mode={mode}
            isNew={isNew}
            onFirstMessage={() => {
              if (isNew) navigate({ isNew: false });
            }}
          />
        </ErrorBoundary>
      </main>
      {isDockBeside && (
        <aside className="app__dock" aria-label="Beside the chat">
          {dockView}
        </aside>
      )}
      {isMedium && (
        <Sheet title="Panel" side="right" isOpen={dock !== undefined} onClose={() => navigate({ dock: undefined })}>
          {dockView}
        </Sheet>
      )}
      <NowPlaying />
      <InboxAnnouncer />
      <KeyDialog />
    </div>
  );
}
