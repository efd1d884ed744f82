import { useServerStatus } from "holdpoint/react";
import { useState } from "react";
import { keyStore } from "../api/key";
import { useServer } from "../api/server";
import { ChatPlace } from "../chat/ChatPlace";
import { AlertsWatcher } from "../inbox/AlertsWatcher";
import { ApprovalsProvider } from "../inbox/ApprovalsContext";
import { InboxAnnouncer } from "../inbox/InboxAnnouncer";
import { NowPlaying } from "../panel/NowPlaying";
import { useStore } from "../store";
import { ConnectionBanner } from "./ConnectionBanner";
import { useCommands } from "./commands";
import { Dock } from "./Dock";
import { ErrorBoundary } from "./ErrorBoundary";
import { Header } from "./Header";
import { KeyDialog } from "./KeyDialog";
import { lazily } from "./lazily";
import { PageHeader } from "./PageHeader";
import { Palette } from "./Palette";
import { inboxPage, statusPage } from "./parts";
import { INBOX, navigate, newChat, routeStore, STATUS } from "./route";
import { Sheet } from "./Sheet";
import { Sidebar } from "./Sidebar";
import { setTheme } from "./theme";
import { isAdmin, MeContext, useMe, useReadMe } from "./useMe";
import { useMedia } from "./useMedia";

const InboxHeader = lazily(inboxPage, (page) => page.InboxHeader, PlainInboxHeader, PlainInboxHeader);
const InboxContent = lazily(inboxPage, (page) => page.InboxContent);
const StatusContent = lazily(statusPage, (page) => page.StatusContent);

function PlainInboxHeader({ onMenu }: { onMenu: () => void }) {
  return <PageHeader title="Inbox" onMenu={onMenu} />;
}

export function App() {
  return (
    <MeContext value={useReadMe()}>
      <ApprovalsProvider>
        <Frame />
      </ApprovalsProvider>
    </MeContext>
  );
}

function Frame() {
  const route = useStore(routeStore);
  const { generation } = useStore(keyStore);
  const me = useMe();
  const [isMenuOpen, setIsMenuOpen] = useState(false);
  const [isDockWide, setIsDockWide] = useState(false);
  const isNarrow = useMedia("(max-width: 820px)");
  const isMedium = useMedia("(max-width: 1120px)");
  const isCurrent = useServerStatus(useServer()).state !== "unreachable";
  const { place, chatId, mode, isNew } = route;
  // The panels are beside a chat.
  const dock = place.kind === "chat" ? route.dock : undefined;
  const isDockBeside = dock !== undefined && !isMedium;
  useCommands("Go to", [
    { name: "Inbox", run: () => navigate({ place: INBOX }) },
    ...(isAdmin(me) ? [{ name: "Status", run: () => navigate({ place: STATUS }) }] : []),
    { name: "Chat", run: () => navigate({ place: { kind: "chat" } }) },
    { name: "New chat", run: newChat },
    { name: "Light colours", run: () => setTheme("light") },
    { name: "Dark colours", run: () => setTheme("dark") },
  ]);

  const sidebar = <Sidebar route={route} onChoose={() => setIsMenuOpen(false)} />;
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
        {place.kind === "chat" && <Header route={route} onMenu={() => setIsMenuOpen(true)} />}
        {place.kind === "status" && <PageHeader title="Status" onMenu={() => setIsMenuOpen(true)} />}
        {(place.kind === "inbox" || place.kind === "hold") && (
          <InboxHeader place={place} onMenu={() => setIsMenuOpen(true)} />
        )}
        <ConnectionBanner />
        {place.kind === "chat" ? (
          <ErrorBoundary key={`${chatId} ${mode} ${generation}`}>
            <ChatPlace
              chatId={chatId}
              mode={mode}
              isNew={isNew}
              onFirstMessage={() => {
                if (isNew) navigate({ isNew: false });
              }}
            />
          </ErrorBoundary>
        ) : (
          <ErrorBoundary key={`${place.kind} ${generation}`}>
            {place.kind === "status" ? <StatusContent /> : <InboxContent place={place} />}
          </ErrorBoundary>
        )}
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
      <AlertsWatcher />
      <Palette />
      <KeyDialog />
    </div>
  );
}
