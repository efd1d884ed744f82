import type { ChatId, PendingApproval } from "../protocol.js";

/** Which open approval requests to list. Filters are combined. */
export type ApprovalsFilter = {
  /** Only this tool, by its name. */
  tool?: string | undefined;
  /** Only this chat. */
  chat?: ChatId | undefined;
  /** Only the chats of this subject. */
  requestedBy?: string | undefined;
  /**
   * Only what contains this text, in any case: in the tool's name or title, the chat's id, the requester, or any text or
   * number of the input.
   */
  q?: string | undefined;
};

/** The path of the first page. */
export function approvalsPath({ tool, chat, requestedBy, q }: ApprovalsFilter, limit?: number): string {
  const given = Object.entries({ limit, tool, chat, requested_by: requestedBy, q });
  const query = new URLSearchParams(
    given.flatMap(([name, value]) => (value === undefined || value === "" ? [] : [[name, String(value)]])),
  ).toString();
  return query === "" ? "/api/approvals" : `/api/approvals?${query}`;
}

/**
 * The list after one of its chats has changed: what the chat has now is in the place of what it had, and everything else
 * stays where it is. A new request that would be behind the last one belongs to a page that is not loaded, if there are
 * more.
 */
export function withChat(
  listed: readonly PendingApproval[],
  chatId: ChatId,
  now: readonly PendingApproval[],
  hasMore: boolean,
): PendingApproval[] {
  // A server that does not know the filter answers with all chats.
  const own = now.filter((approval) => approval.chatId === chatId);
  const current = new Map(own.map((approval) => [approval.approvalId, approval]));
  const list = listed.flatMap((approval) => {
    if (approval.chatId !== chatId) return [approval];
    const changed = current.get(approval.approvalId);
    current.delete(approval.approvalId);
    return changed === undefined ? [] : [changed];
  });
  for (const added of current.values()) {
    const at = list.findIndex((other) => other.requestedAt > added.requestedAt);
    if (at !== -1) list.splice(at, 0, added);
    else if (!hasMore) list.push(added);
  }
  return list;
}
