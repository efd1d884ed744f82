import type { PendingApproval } from "holdpoint/protocol";
import { CheckCheck, WifiOff, X } from "lucide-react";
import { type RefObject, useEffect, useRef, useState } from "react";
import { useCommands } from "../shell/commands";
import { type InboxFilter, navigateInbox } from "../shell/route";
import { useMedia } from "../shell/useMedia";
import type { ApprovalKeys } from "../tools/ApprovalActions";
import { isGuarded } from "../tools/guard";
import { Time } from "../tools/Time";
import { BulkDialog } from "./BulkDialog";
import { allows } from "./entry";
import { FilterRow } from "./FilterRow";
import type { KeyAction } from "./keys";
import { Nothing, NothingShown } from "./Nothing";
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
  // While somebody writes, what they write about stays, also after their own decision.
  const [isBusy, setIsBusy] = useState(false);
  const waiting = useWaiting({ filter, wanted: open, isBusy });
  const { inbox, entries, id, entry, record, isOpen, decide, ticked, toolNamed, titleOf } = waiting;
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
      if (id !== undefined) show(id);
      pane.current?.focus();
    },
    back: () => {
      if (open !== undefined) navigateInbox({ open: undefined });
      else if (ticked.size > 0 && !pane.current?.contains(document.activeElement)) waiting.clearTicked();
      list.current?.focus();
    },
    // With something ticked, a decision is about that, and never about what is not.
    approve: () => (ticked.size > 0 ? decideAll("approve") : isPaneShown && keys.current?.approve()),
    deny: () => (ticked.size > 0 ? decideAll("deny") : isPaneShown && keys.current?.deny()),
    edit: () => isPaneShown && keys.current?.edit(),
    answer: () => isPaneShown && keys.current?.answer(),
    select: () => id !== undefined && waiting.tick(id),
    help: onHelp,
  };
  useKeys(act);

  // biome-ignore lint/correctness/useExhaustiveDependencies: only the browser's buttons, Back and Forward, open another one
  useEffect(() => {
    if (open !== undefined && open !== id) waiting.select(open);
  }, [open]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the one that was opened was decided here, and another one is shown
  useEffect(() => {
    if (open !== undefined && id !== undefined && open !== id) navigateInbox({ open: id });
  }, [id]);

  const decideAll = (kind: "approve" | "deny") => {
    if (!isGuarded()) setBulk({ kind, entries: [...ticked.values()] });
  };
  const isListed = (approvalId: string) => entries.some((other) => other.approvalId === approvalId);
  const endedOfTicked = [...ticked.keys()].filter((each) => waiting.isLoaded && !isListed(each)).length;
  useCommands(
    "Request",
    entry === undefined
      ? []
      : [
          // What has ended can't be decided, from here either.
          ...(isOpen ? decisionsOf(entry, keys) : []),
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
              <span className="bulkbar__count">
                {ticked.size} selected
                {endedOfTicked > 0 && `, ${endedOfTicked} ended`}
              </span>
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
              currentId={id}
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
          <Results decided={waiting.decided} toolNamed={toolNamed} onClear={waiting.clearDecided} />
        </div>
      )}
      {isPaneShown && (
        <div className="waiting__main">
          {entry === undefined ? (
            <NothingShown
              isReading={id !== undefined && !waiting.isMissing}
              isMissing={id !== undefined && waiting.isMissing}
              onBack={isNarrow ? act.back : undefined}
            />
          ) : (
            <ReviewPane
              key={entry.approvalId}
              entry={entry}
              tool={toolNamed(entry.toolName)}
              chatTitle={titleOf(entry.chatId)}
              progress={inbox.decisions[entry.approvalId]}
              decide={(decision) => void decide(entry, decision)}
              isOpen={isOpen}
              record={record}
              isMissing={waiting.isMissing}
              after={
                <button type="button" className="button" aria-keyshortcuts="J" onClick={() => act.next()}>
                  {entries.length > 0 ? "Next request" : "Close"} <kbd>J</kbd>
                </button>
              }
              onBusy={setIsBusy}
              keys={keys}
              frame={pane}
              onBack={isNarrow ? act.back : undefined}
            />
          )}
          {isNarrow && <Results decided={waiting.decided} toolNamed={toolNamed} onClear={waiting.clearDecided} />}
        </div>
      )}
      {bulk && (
        <BulkDialog
          {...bulk}
          toolNamed={toolNamed}
          isOpen={isListed}
          decide={decide}
          onOpen={(approvalId) => {
            setBulk(undefined);
            show(approvalId);
          }}
          onClose={() => setBulk(undefined)}
        />
      )}
    </div>
  );
}

/** What the palette offers for an open request: the same as the keys. */
function decisionsOf(entry: PendingApproval, keys: RefObject<ApprovalKeys | null>) {
  return [
    { name: "Deny this request…", hint: "D", run: () => keys.current?.deny() },
    ...(allows(entry, "edit") ? [{ name: "Edit this request…", hint: "E", run: () => keys.current?.edit() }] : []),
    ...(allows(entry, "answer")
      ? [{ name: "Answer in the tool's place…", hint: "R", run: () => keys.current?.answer() }]
      : []),
  ];
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
