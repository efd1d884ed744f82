import type { EventsSource } from "../../src/index.js";
import type { PendingApproval, ServerEvent } from "../../src/protocol.js";

let servers = 0;

/** An approval request, asked in the given second. */
export function approval(second: number, more: Partial<PendingApproval> = {}): PendingApproval {
  const at = String(second).padStart(4, "0");
  return {
    approvalId: `approval_${at}`,
    toolCallId: `call_${at}`,
    chatId: `chat_${at}`,
    toolName: "process_payment",
    input: { amount: second },
    reason: null,
    requestedAt: new Date(Date.UTC(2026, 10, 1) + second * 1_000).toISOString(),
    expiresAt: null,
    allowed: ["approve", "deny"],
    requestedBy: "ann",
    ...more,
  };
}

/** An inbox that answers as the server does: filters, pages with a cursor. It has no other routes. */
export function fakeInbox(initial: PendingApproval[], { scanned = Infinity }: { scanned?: number } = {}) {
  let open = initial;
  const requests: string[] = [];
  const decisions: unknown[] = [];
  const listeners = new Set<(event: ServerEvent) => void>();
  const state = { isDown: false, decision: { ok: true } as object };
  const events: EventsSource = {
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const list = (query: URLSearchParams): Response => {
    const [limit, after] = [Number(query.get("limit") ?? 100), Number(query.get("after") ?? 0)];
    const meets = (name: string, value: string) => query.get(name) === null || query.get(name) === value;
    const found: PendingApproval[] = [];
    let at = after;
    // The work of one request is bounded: a page may be empty and have a next one.
    for (; at < open.length && found.length < limit && at - after < scanned; at++) {
      const each = open[at] as PendingApproval;
      const isMeant =
        meets("tool", each.toolName) && meets("chat", each.chatId) && meets("requested_by", each.requestedBy);
      if (isMeant && JSON.stringify(each.input).includes(query.get("q") ?? "")) found.push(each);
    }
    query.set("after", String(at));
    return Response.json(found, at < open.length ? { headers: { link: `<?${query}>; rel="next"` } } : {});
  };
  const respond: typeof fetch = async (input, init) => {
    const { pathname, searchParams } = new URL(String(input));
    if (state.isDown) throw new TypeError("fetch failed");
    requests.push(`${init?.method ?? "GET"} ${pathname}?${searchParams}`);
    if (init?.method === "POST") {
      decisions.push(JSON.parse(String(init.body)));
      return Response.json(state.decision);
    }
    return list(searchParams);
  };
  return {
    options: { baseUrl: `http://inbox-${servers++}.example`, fetch: respond, events },
    state,
    requests,
    /** The bodies of the decisions that were sent. */
    decisions,
    tell: (event: ServerEvent) => {
      for (const listener of [...listeners]) listener(event);
    },
    set: (change: (open: PendingApproval[]) => PendingApproval[]) => {
      open = change(open);
    },
  };
}
