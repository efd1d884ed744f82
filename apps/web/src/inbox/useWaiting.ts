import type { ApprovalDecision } from "holdpoint";
import type { PendingApproval } from "holdpoint/protocol";
import { useApproval, useApprovals, useChats, useTools } from "holdpoint/react";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useClient, useServer } from "../api/server";
import { markDecision } from "../inspector/markDecision";
import type { InboxFilter } from "../shell/route";
import { guardDecisions } from "../tools/guard";
import { decisionFetch } from "./ApprovalsContext";
import { follow, NO_SELECTION, step } from "./selection";
import { useTicked } from "./useTicked";

const PAGE = 100;
/** The most that the server gives at once: for the newest first, all is read. */
const WHOLE_PAGE = 1_000;
const AGE_MS = 30_000;
const NONE: readonly PendingApproval[] = [];

interface Options {
  filter: InboxFilter;
  /** The request that the address names. */
  wanted: string | undefined;
  /** Somebody writes about the selected request: it stays. */
  isBusy: boolean;
}

/** The list of the inbox, its selection, and the decisions of this visit. */
export function useWaiting({ filter: { order, ...filter }, wanted, isBusy }: Options) {
  const server = useServer();
  const client = useClient();
  const isNewest = order === "newest";
  const pageSize = isNewest ? WHOLE_PAGE : PAGE;
  const inbox = useApprovals({ ...server, fetch: decisionFetch, filter, pageSize });
  const { tools } = useTools(server);
  const { chats } = useChats(server);
  const toolByName = useMemo(() => new Map(tools?.map((tool) => [tool.name, tool])), [tools]);
  const titleById = useMemo(() => new Map(chats?.map(({ id, title }) => [id, title])), [chats]);
  // The server lists the oldest first: the newest are known once all are.
  const { approvals, decisions, hasMore, isLoadingMore, loadMore } = inbox;
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

  // During render, so that nothing is ever drawn with the selection of another list.
  const list = JSON.stringify([filter, order]);
  const [selection, setSelection] = useState(() => ({ ...NO_SELECTION, id: wanted, list }));
  const isDecidedHere = (id: string) => !isBusy && decisions[id]?.state === "in-force";
  let current = selection;
  if (isLoaded && selection.list !== list) {
    // The person has asked for another list. What is not in it is not what they want to see.
    const isIn = selection.id !== undefined && ids.includes(selection.id);
    current = { id: isIn ? selection.id : ids[0], among: ids, list };
  } else if (isLoaded) {
    const followed = follow(selection, ids, isDecidedHere);
    if (followed !== selection) current = { ...followed, list };
  }
  if (current !== selection) setSelection(current);
  const { id } = current;
  const listed = entries.find(({ approvalId }) => approvalId === id);
  const chosen = useRef({ id, isDecidable: true, isLoaded });
  // While the list is read, it is what it was.
  const isListed = listed !== undefined || (!isLoaded && chosen.current.id === id && chosen.current.isDecidable);

  // What is read stays as it was read. What has become of it is in the server's record of that one request.
  const last = useRef<PendingApproval>(undefined);
  if (listed !== undefined) last.current = listed;
  const needsRecord = id !== undefined && (!isListed || decisions[id] !== undefined);
  const { record, isOpen, error } = useApproval(needsRecord ? id : undefined, server);
  const kept = last.current?.approvalId === id ? last.current : undefined;
  const entry = listed ?? record?.approval ?? kept;

  // Another request is shown, or it can be decided again, and nobody chose that: no click and no key decides it for a
  // moment.
  const isDecidable = isListed || isOpen === true;
  useLayoutEffect(() => {
    const before = chosen.current;
    // The first one of the first list is what the person came for.
    const isOther = before.id !== id && (before.id !== undefined || before.isLoaded);
    if (isOther || (isDecidable && !before.isDecidable)) guardDecisions();
    chosen.current = { id, isDecidable, isLoaded };
  }, [id, isDecidable, isLoaded]);

  const select = useCallback((next: string) => {
    chosen.current = { ...chosen.current, id: next, isDecidable: true };
    setSelection((before) => ({ ...before, id: next }));
  }, []);
  const move = (by: 1 | -1) => {
    const next = step(current, ids, by);
    chosen.current = { ...chosen.current, id: next.id, isDecidable: true };
    setSelection({ ...next, list });
  };

  const toolNamed = useCallback((name: string) => toolByName.get(name), [toolByName]);
  const [decided, setDecided] = useState<readonly PendingApproval[]>([]);
  const { decide: send } = inbox;
  const decide = useCallback(
    async (about: PendingApproval, decision: ApprovalDecision) => {
      const { approvalId, chatId, inputSha256 } = about;
      setDecided((before) => [...before.filter((other) => other.approvalId !== approvalId), about]);
      // About what was on the screen, whatever the list has by now.
      const settled = send(approvalId, { ...decision, ...(inputSha256 !== undefined && { inputSha256 }) });
      await markDecision(chatId, approvalId, decision, () => settled);
      return await settled;
    },
    [send],
  );

  const [now, setNow] = useState(() => client.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(client.now()), AGE_MS);
    return () => clearInterval(timer);
  }, [client]);
  return {
    inbox,
    isLoaded,
    entries,
    /** The selected request, also after it has left the list. */
    ...{ id, entry, record },
    /** Whether it can be decided. */
    isOpen: isDecidable,
    isMissing: error?.status === 404,
    ...{ select, move },
    ...useTicked(entries, decisions),
    ...{ decide, decided, clearDecided: () => setDecided([]) },
    toolNamed,
    titleOf: useCallback((chatId: string) => titleById.get(chatId), [titleById]),
    now,
  };
}
