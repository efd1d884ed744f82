import { Inbox, SearchX, WifiOff } from "lucide-react";
import { type InboxFilter, navigateInbox } from "../shell/route";

/** An empty list, and why it is. */
export function Nothing({ isLoaded, isFailed, filter }: { isLoaded: boolean; isFailed: boolean; filter: InboxFilter }) {
  const isFiltered = [filter.tool, filter.chat, filter.requestedBy, filter.q].some((value) => value !== undefined);
  if (!isLoaded && isFailed) {
    return (
      <div className="empty" role="alert">
        <WifiOff size={26} aria-hidden="true" />
        <h2>The list could not be loaded</h2>
        <p>The server has not responded yet. Retrying.</p>
      </div>
    );
  }
  if (!isLoaded) {
    return (
      <div className="waiting__skeleton" aria-hidden="true">
        {[1, 2, 3, 4].map((key) => (
          <span key={key} className="skeleton" />
        ))}
      </div>
    );
  }
  if (isFiltered) {
    return (
      <div className="empty">
        <SearchX size={26} aria-hidden="true" />
        <h2>Nothing matches</h2>
        <button type="button" className="button" onClick={() => navigateInbox({ filter: { order: filter.order } })}>
          Show everything
        </button>
      </div>
    );
  }
  return (
    <div className="empty">
      <Inbox size={26} aria-hidden="true" />
      <h2>Nothing is waiting for you</h2>
      <p>Approval requests that you may decide appear here.</p>
    </div>
  );
}

interface NothingShownProps {
  /** A request is selected, and is being read. */
  isReading: boolean;
  /** The server does not have the one that is selected. */
  isMissing: boolean;
  /** Back to the list, where the list is not beside it. */
  onBack: (() => void) | undefined;
}

/** No request beside the list. */
export function NothingShown({ isReading, isMissing, onBack }: NothingShownProps) {
  if (isReading) {
    return (
      <div className="waiting__skeleton" aria-hidden="true">
        <span className="skeleton" />
        <span className="skeleton" />
      </div>
    );
  }
  const Icon = isMissing ? SearchX : Inbox;
  return (
    <div className="empty">
      <Icon size={26} aria-hidden="true" />
      <h2>{isMissing ? "There is no such request" : "No request is selected"}</h2>
      {onBack && (
        <button type="button" className="button" onClick={onBack}>
          Back to the list
        </button>
      )}
    </div>
  );
}
