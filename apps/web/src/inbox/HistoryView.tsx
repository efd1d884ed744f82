import type { AuditLine } from "holdpoint/protocol";
import { useAudit, useTools } from "holdpoint/react";
import { History, RotateCw } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { useServer } from "../api/server";
import { useMe } from "../shell/useMe";
import { Untrusted } from "../text/Untrusted";
import { HistoryItem } from "./HistoryItem";

const SPANS = {
  day: { text: "the last day", days: 1 },
  week: { text: "the last 7 days", days: 7 },
  month: { text: "the last 30 days", days: 30 },
  all: { text: "all time", days: undefined },
} as const;

type Span = keyof typeof SPANS;

/** The record is read oldest first, so all of a span is read before the newest can be shown. This is the most. */
const MOST = 5_000;

/** What this user has decided, by the record: newest first. */
export function HistoryView() {
  const me = useMe();
  const [span, setSpan] = useState<Span>("week");
  return (
    <div className="page">
      <div className="page__tools">
        <label className="page__label">
          My decisions of
          <select className="field" value={span} onChange={({ target }) => setSpan(target.value as Span)}>
            {Object.entries(SPANS).map(([name, { text }]) => (
              <option key={name} value={name}>
                {text}
              </option>
            ))}
          </select>
        </label>
      </div>
      {me && <Decisions key={`${me.subject} ${span}`} subject={me.subject} days={SPANS[span].days} />}
    </div>
  );
}

function Decisions({ subject, days }: { subject: string; days: number | undefined }) {
  const server = useServer();
  const { tools } = useTools(server);
  const since = useMemo(
    () => (days === undefined ? undefined : new Date(Date.now() - days * 86_400_000).toISOString()),
    [days],
  );
  const decided = useAudit({ ...server, filter: { subject, step: "decided", since }, pageSize: 1_000 });
  const voted = useAudit({ ...server, filter: { subject, step: "voted", since }, pageSize: 1_000 });
  useReadOn(decided);
  useReadOn(voted);
  const lines = useMemo(() => {
    if (decided.lines === undefined || voted.lines === undefined) return undefined;
    // The record of a subject also has what others decided in its chats.
    const own = (line: AuditLine) => line.by === subject && (line.step === "decided" || line.step === "voted");
    const all = new Map([...decided.lines, ...voted.lines].filter(own).map((line) => [keyOf(line), line]));
    return [...all.values()].sort((a, b) => b.at.localeCompare(a.at) || b.position - a.position);
  }, [decided.lines, voted.lines, subject]);
  const error = decided.error ?? voted.error;
  const isCut = [decided, voted].some(({ hasMore, isLoading }) => hasMore && !isLoading);

  if (lines === undefined) {
    return error ? (
      <div className="empty" role="alert">
        <h2>The record could not be read</h2>
        <p>
          <Untrusted text={error.message} reading="prose" />
        </p>
      </div>
    ) : (
      <div className="waiting__skeleton" aria-hidden="true">
        <span className="skeleton" />
        <span className="skeleton" />
      </div>
    );
  }
  if (lines.length === 0) {
    return (
      <div className="empty">
        <History size={26} aria-hidden="true" />
        <h2>You have decided nothing in this time</h2>
      </div>
    );
  }
  return (
    <>
      <p className="page__note">
        {lines.length === 1 ? "1 decision" : `${lines.length} decisions`}
        {isCut &&
          `. The record of this time is longer than ${MOST} lines, so the newest are missing: choose less time.`}
        <button
          type="button"
          className="icon-button"
          aria-label="Read again"
          title="Read again"
          onClick={() => {
            decided.refresh();
            voted.refresh();
          }}
        >
          <RotateCw size={14} aria-hidden="true" />
        </button>
      </p>
      <ol className="history" aria-label="My decisions">
        {lines.slice(0, 500).map((line) => (
          <HistoryItem key={keyOf(line)} line={line} tool={tools?.find(({ name }) => name === line.toolName)} />
        ))}
      </ol>
      {lines.length > 500 && <p className="page__note">The newest 500 are shown. Choose less time to see others.</p>}
    </>
  );
}

/** Reads all pages, up to a limit. */
function useReadOn({ lines, hasMore, isLoading, error, loadMore }: ReturnType<typeof useAudit>): void {
  const isWanted = hasMore && !isLoading && error === undefined && (lines?.length ?? 0) < MOST;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the function is a new one with every page
  useEffect(() => {
    if (isWanted) loadMore();
  }, [isWanted, lines]);
}

function keyOf({ chatId, position, toolCallId, step }: AuditLine): string {
  return `${chatId} ${position} ${toolCallId} ${step}`;
}
