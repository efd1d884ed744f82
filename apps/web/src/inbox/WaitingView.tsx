import type { PendingApproval } from "holdpoint/protocol";
import { CheckCheck, Inbox, SearchX, WifiOff, X } from "lucide-react";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useCommands } from "../shell/commands";
import { type InboxFilter, navigateInbox } from "../shell/route";
import { useMedia } from "../shell/useMedia";
import type { ApprovalKeys } from "../tools/ApprovalActions";
import { guardDecisions } from "../tools/guard";
import { Time } from "../tools/Time";
import { BulkDialog } from "./BulkDialog";
import { allows } from "./entry";
import { FilterRow } from "./FilterRow";
import type { KeyAction } from "./keys";
import { Results } from "./Results";
import { ReviewPane } from "./ReviewPane";
import { useKeys } from "./useKeys";
import { useWaiting } from "./useWaiting";
import { type ListHandle, WaitingList } from "./WaitingList";

interface Props {
  filter: InboxFilter;
  /** The request that covers the list on a narrow screen. */
  open: string | undefined;
  onHelp: () => void;
}

/** What waits for this user: the list, and beside it all of one request. */
export function WaitingView({ filter, open, onHelp }: Props) {
  const waiting = useWaiting(filter, open);
  const { inbox, entries, entry, decide, ticked, toolNamed, titleOf } = waiting;
  const [bulk, setBulk] = useState<{ kind: "approve" | "deny"; entries: readonly PendingApproval[] }>();
  const isNarrow = useMedia("(max-width: 900px)");
  const keys = useRef<ApprovalKeys>(null);
  const list = useRef<ListHandle>(null);
  const pane = useRef<HTMLElement>(null);
  const isPaneShown = !isNarrow || open !== undefined;
  const isListShown = !isNarrow || open === undefined;

  const show = (approvalId: string) => {
    waiting.select(approvalId);
    if (isNarrow) navigateInbox({ open: approvalId });
  };
  const act: Record<KeyAction, () => void> = {
    next: () => {
      waiting.move(1);
      list.current?.focus();
    },
    previous: () => {
      waiting.move(-1);
      list.current?.focus();
    },
    open: () => {
      if (entry !== undefined) show(entry.approvalId);
      pane.current?.focus();
    },
    back: () => {
      if (open !== undefined) navigateInbox({ open: undefined });
      else if (ticked.size > 0 && !pane.current?.contains(document.activeElement)) waiting.clearTicked();
      list.current?.focus();
    },
    approve: () => isPaneShown && keys.current?.approve(),
    deny: () => isPaneShown && keys.current?.deny(),
    edit: () => isPaneShown && keys.current?.edit(),
    answer: () => isPaneShown && keys.current?.answer(),
    select: () => entry !== undefined && waiting.tick(entry.approvalId),
    help: onHelp,
  };
  useKeys(act);

  const currentId = entry?.approvalId;
  // While somebody writes, what they write about stays: the keys that they press are not for another request.
  const [isBusy, setIsBusy] = useState(false);
  const kept = useRef(entry);
  if (!isBusy) kept.current = entry;
  const shown = kept.current;
  const isGone = shown !== undefined && shown.approvalId !== currentId;
  const shownId = shown?.approvalId;
  const wasGone = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: nobody chose the request that is shown after one that is gone
  useLayoutEffect(() => {
    if (wasGone.current) guardDecisions();
    wasGone.current = isGone;
  }, [isGone, shownId]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only the browser's buttons, Back and Forward, open another one
  useEffect(() => {
    if (open !== undefined && open !== currentId && entries.some(({ approvalId }) => approvalId === open))
      waiting.select(open);
  }, [open]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the one that was opened has left, and another one is shown
  useEffect(() => {
    if (open !== undefined && currentId !== undefined && open !== currentId) navigateInbox({ open: currentId });
  }, [currentId]);

  const chosen = useMemo(() => entries.filter(({ approvalId }) => ticked.has(approvalId)), [entries, ticked]);
  const decideAll = (kind: "approve" | "deny") => setBulk({ kind, entries: chosen });
  useCommands(
    "Request",
    entry === undefined
      ? []
      : [
          { name: "Deny this request…", hint: "D", run: () => act.deny() },
          ...(allows(entry, "edit") ? [{ name: "Edit this request…", hint: "E", run: () => act.edit() }] : []),
          ...(allows(entry, "answer")
            ? [{ name: "Answer in the tool's place…", hint: "R", run: () => act.answer() }]
            : []),
          { name: "Only this tool", run: () => navigateInbox({ filter: { ...filter, tool: entry.toolName } }) },
          {
            name: "Only this requester",
            run: () => navigateInbox({ filter: { ...filter, requestedBy: entry.requestedBy } }),
          },
          { name: "Only this chat", run: () => navigateInbox({ filter: { ...filter, chat: entry.chatId } }) },
        ],
  );
  return (
    <div className="waiting" data-open={open !== undefined}>
      {isListShown && (
        <div className="waiting__side">
          <FilterRow filter={filter} {...choicesOf(entries, waiting)} />
          {inbox.staleSince !== undefined && (
            <p className="inbox__stale" role="status">
              <WifiOff size={15} aria-hidden="true" />
              <span>
                Not up to date since <Time iso={inbox.staleSince.toISOString()} />.
              </span>
            </p>
          )}
          {ticked.size > 0 && (
            <div className="bulkbar" role="toolbar" aria-label="Decide all that are selected">
              <CheckCheck size={16} aria-hidden="true" />
              <span className="bulkbar__count">{ticked.size} selected</span>
              <button type="button" className="button button--ok" onClick={() => decideAll("approve")}>
                Approve…
              </button>
              <button type="button" className="button button--bad" onClick={() => decideAll("deny")}>
                Deny…
              </button>
              <button
                type="button"
                className="icon-button"
                aria-label="Select nothing"
                title="Select nothing"
                onClick={waiting.clearTicked}
              >
                <X size={15} aria-hidden="true" />
              </button>
            </div>
          )}
          {entries.length === 0 ? (
            <Nothing isLoaded={waiting.isLoaded} isFailed={inbox.error !== undefined} filter={filter} />
          ) : (
            <WaitingList
              entries={entries}
              currentId={currentId}
              ticked={ticked}
              decisions={inbox.decisions}
              toolNamed={toolNamed}
              titleOf={titleOf}
              now={waiting.now}
              hasMore={inbox.hasMore}
              isLoadingMore={inbox.isLoadingMore}
              onMore={inbox.loadMore}
              onOpen={show}
              onTick={waiting.tick}
              handle={list}
            />
          )}
          <Results decided={waiting.decided} decisions={inbox.decisions} onClear={waiting.clearDecided} />
        </div>
      )}
      {isPaneShown && (
        <div className="waiting__main">
          {shown === undefined ? (
            <div className="empty">
              <Inbox size={26} aria-hidden="true" />
              <h2>No request is selected</h2>
              {isNarrow && (
                <button type="button" className="button" onClick={() => navigateInbox({ open: undefined })}>
                  Back to the list
                </button>
              )}
            </div>
          ) : (
            <ReviewPane
              key={shown.approvalId}
              entry={shown}
              tool={toolNamed(shown.toolName)}
              chatTitle={titleOf(shown.chatId)}
              progress={inbox.decisions[shown.approvalId]}
              decide={(decision) => void decide(shown, decision)}
              isOpen
              isGone={isGone && inbox.decisions[shown.approvalId]?.state !== "in-force"}
              onBusy={setIsBusy}
              keys={keys}
              frame={pane}
              onBack={isNarrow ? act.back : undefined}
            />
          )}
          {isNarrow && <Results decided={waiting.decided} decisions={inbox.decisions} onClear={waiting.clearDecided} />}
        </div>
      )}
      {bulk && (
        <BulkDialog
          {...bulk}
          decisions={inbox.decisions}
          toolNamed={toolNamed}
          decide={decide}
          onClose={() => setBulk(undefined)}
        />
      )}
    </div>
  );
}

/** What is loaded can be chosen from. */
function choicesOf(entries: readonly PendingApproval[], { toolNamed, titleOf }: ReturnType<typeof useWaiting>) {
  const unique = (pairs: [value: string, label: string][]) =>
    [...new Map(pairs)].map(([value, label]) => ({ value, label })).sort((a, b) => a.label.localeCompare(b.label));
  return {
    tools: unique(
      entries
        .map(({ toolName, title }) => [toolName, title ?? toolNamed(toolName)?.title ?? toolName] as const)
        .map(([value, label]) => [value, label]),
    ),
    requesters: unique(entries.map(({ requestedBy }) => [requestedBy, requestedBy])),
    chats: unique(entries.map(({ chatId }) => [chatId, titleOf(chatId) || chatId])),
  };
}

function Nothing({ isLoaded, isFailed, filter }: { isLoaded: boolean; isFailed: boolean; filter: InboxFilter }) {
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
