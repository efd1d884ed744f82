import { History, Inbox, Keyboard, ShieldCheck } from "lucide-react";
import { useContext, useState } from "react";
import { useCommands } from "../shell/commands";
import { inPage } from "../shell/inPage";
import { PageHeader } from "../shell/PageHeader";
import { formatRoute, INBOX, INBOX_VIEWS, type InboxView, navigate, type Place, routeStore } from "../shell/route";
import { AlertsMenu } from "./AlertsMenu";
import { ApprovalsContext, useWaitingCount } from "./ApprovalsContext";
import { GrantsView } from "./GrantsView";
import { HelpDialog } from "./HelpDialog";
import { HistoryView } from "./HistoryView";
import { HoldPage } from "./HoldPage";
import { WaitingView } from "./WaitingView";

interface Props {
  place: Extract<Place, { kind: "inbox" | "hold" }>;
  onMenu: () => void;
}

const VIEWS: Record<InboxView, { label: string; Icon: typeof Inbox }> = {
  waiting: { label: "Waiting for me", Icon: Inbox },
  history: { label: "History", Icon: History },
  grants: { label: "Grants", Icon: ShieldCheck },
};

/** The inbox as a place to work, and the page of one request. */
export function InboxHeader({ place, onMenu }: Props) {
  const { staleSince } = useContext(ApprovalsContext);
  const waiting = useWaitingCount();
  const [isHelping, setIsHelping] = useState(false);
  const view = place.kind === "inbox" ? place.view : undefined;
  useCommands("Inbox", [
    ...INBOX_VIEWS.map((name) => ({
      name: VIEWS[name].label,
      run: () => navigate({ place: { ...INBOX, view: name } }),
    })),
    { name: "Oldest first", run: () => order(undefined) },
    { name: "Newest first", run: () => order("newest") },
    { name: "Clear the filters", run: () => navigate({ place: INBOX }) },
    { name: "Show the keys", hint: "?", run: () => setIsHelping(true) },
  ]);
  return (
    <PageHeader title="Inbox" onMenu={onMenu} className="inbox-header">
      <nav className="inbox-header__views" aria-label="Inbox">
        {INBOX_VIEWS.map((name) => {
          const { label, Icon } = VIEWS[name];
          const target: Place = { ...INBOX, view: name };
          return (
            <a
              key={name}
              className="inbox-header__view"
              href={formatRoute({ ...routeStore.read(), place: target })}
              aria-current={view === name ? "page" : undefined}
              onClick={inPage(() => navigate({ place: target }))}
            >
              <Icon size={15} aria-hidden="true" />
              <span>{label}</span>
              {name === "waiting" && waiting !== undefined && (
                <span className="badge" data-stale={staleSince !== undefined}>
                  {waiting}
                </span>
              )}
            </a>
          );
        })}
      </nav>
      <AlertsMenu />
      <button
        type="button"
        className="icon-button inbox-header__help"
        aria-label="Keys"
        title="Keys (?)"
        onClick={() => setIsHelping(true)}
      >
        <Keyboard size={17} aria-hidden="true" />
      </button>
      {isHelping && <HelpDialog onClose={() => setIsHelping(false)} />}
    </PageHeader>
  );
}

/** What is below the header. */
export function InboxContent({ place }: Pick<Props, "place">) {
  const [isHelping, setIsHelping] = useState(false);
  return (
    <>
      <div className="inbox-page">
        {place.kind === "hold" && <HoldPage approvalId={place.approvalId} />}
        {place.kind === "inbox" && place.view === "waiting" && (
          <WaitingView filter={place.filter} open={place.open} onHelp={() => setIsHelping(true)} />
        )}
        {place.kind === "inbox" && place.view === "history" && <HistoryView />}
        {place.kind === "inbox" && place.view === "grants" && <GrantsView />}
      </div>
      {isHelping && <HelpDialog onClose={() => setIsHelping(false)} />}
    </>
  );
}

function order(next: "newest" | undefined): void {
  const { place } = routeStore.read();
  const inbox = place.kind === "inbox" ? place : INBOX;
  navigate({ place: { ...inbox, view: "waiting", filter: { ...inbox.filter, order: next } } });
}
