import type { ApprovalDecision } from "holdpoint";
import { serverNow } from "holdpoint";
import type { PendingApproval } from "holdpoint/protocol";
import { useApprovals, useChats, useTools } from "holdpoint/react";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useServer } from "../api/server";
import { markDecision } from "../inspector/markDecision";
import type { InboxFilter } from "../shell/route";
import { guardDecisions } from "../tools/guard";
import { decisionFetch } from "./ApprovalsContext";
import { present } from "./entry";
import { follow, NO_SELECTION, step } from "./selection";

const PAGE = 100;
/** The most that the server gives at once: for the newest first, all is read. */
const WHOLE_PAGE = 1_000;
const AGE_MS = 30_000;
const NONE: readonly PendingApproval[] = [];

/** The list of the inbox, its selection, and the decisions of this visit. */
export function useWaiting({ order, ...filter }: InboxFilter, wanted: string | undefined) {
  const server = useServer();
  const isNewest = order === "newest";
  const pageSize = isNewest ? WHOLE_PAGE : PAGE;
  const inbox = useApprovals({ ...server, fetch: decisionFetch, filter, pageSize });
  const { tools } = useTools(server);
  const { chats } = useChats(server);
  const toolByName = useMemo(() => new Map(tools?.map((tool) => [tool.name, tool])), [tools]);
  const titleById = useMemo(() => new Map(chats?.map(({ id, title }) => [id, title])), [chats]);
  // The server lists the oldest first: the newest are known once all are.
  const { approvals, hasMore, isLoadingMore, loadMore } = inbox;
  const isReading = isNewest && hasMore;
  const isLoaded = approvals !== undefined && !isReading;
  useEffect(() => {
    if (isReading && !isLoadingMore) loadMore();
  }, [isReading, isLoadingMore, loadMore]);
  const entries = useMemo((): readonly PendingApproval[] => {
    if (approvals === undefined || isReading) return NONE;
    return isNewest ? [...approvals].reverse() : approvals;
  }, [approvals, isNewest, isReading]);
  const ids = useMemo(() => entries.map(({ approvalId }) => approvalId), [entries]);
  const [selection, setSelection] = useState(() => ({ ...NO_SELECTION, id: wanted }));
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const [decided, setDecided] = useState<readonly { approvalId: string; subject: string }[]>([]);

  // During render, so that nothing is ever drawn with the selection of another list.
  const current = isLoaded ? follow(selection, ids) : selection;
  if (current !== selection) setSelection(current);
  const { id } = current;
  const entry = entries.find(({ approvalId }) => approvalId === id);

  // Something else is selected, and nobody chose it: no click and no key decides it for a moment.
  const chosen = useRef(id);
  useLayoutEffect(() => {
    if (chosen.current !== id && chosen.current !== undefined) guardDecisions();
    chosen.current = id;
  }, [id]);

  // What has left the list is not selected any more.
  const gone = [...ticked].filter((each) => isLoaded && !ids.includes(each));
  if (gone.length > 0) setTicked(new Set([...ticked].filter((each) => !gone.includes(each))));

  const select = useCallback((next: string) => {
    chosen.current = next;
    setSelection((before) => ({ ...before, id: next }));
  }, []);
  const move = (by: number) => {
    const next = step(current, by).id;
    if (next !== undefined) select(next);
  };
  const tick = useCallback((each: string) => {
    setTicked((before) => {
      const after = new Set(before);
      if (!after.delete(each)) after.add(each);
      return after;
    });
  }, []);

  const toolNamed = useCallback((name: string) => toolByName.get(name), [toolByName]);
  const { decide: send } = inbox;
  const decide = useCallback(
    async (about: PendingApproval, decision: ApprovalDecision) => {
      const { approvalId, chatId, toolName } = about;
      const { subject } = present(about, toolByName.get(toolName));
      setDecided((before) => [...before.filter((other) => other.approvalId !== approvalId), { approvalId, subject }]);
      const settled = send(approvalId, decision);
      await markDecision(chatId, approvalId, decision, () => settled);
      return await settled;
    },
    [send, toolByName],
  );

  const [now, setNow] = useState(() => serverNow(server));
  useEffect(() => {
    const timer = setInterval(() => setNow(serverNow(server)), AGE_MS);
    return () => clearInterval(timer);
  }, [server]);
  return {
    inbox,
    isLoaded,
    entries,
    entry,
    ...{ select, move, ticked, tick, clearTicked: () => setTicked(new Set()) },
    ...{ decide, decided, clearDecided: () => setDecided([]) },
    toolNamed,
    titleOf: useCallback((chatId: string) => titleById.get(chatId), [titleById]),
    now,
  };
}
