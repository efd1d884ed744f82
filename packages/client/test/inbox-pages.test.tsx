// @vitest-environment jsdom

import { act, cleanup, renderHook } from "@testing-library/react";
import { StrictMode } from "react";
import { afterEach, describe, expect, it } from "vitest";
import { createHoldpoint, type EventsSource } from "../src/index.js";
import type { ApprovalRecord, ServerEvent } from "../src/protocol.js";
import { type UseApprovalsOptions, useApproval, useApprovals } from "../src/react/index.js";
import { withChat } from "../src/server/approvals-filter.js";
import { approval, fakeInbox } from "./support/inbox.js";
import { until } from "./support/until.js";

afterEach(cleanup);

const many = (count: number) => Array.from({ length: count }, (_, at) => approval(at));

function render(options: UseApprovalsOptions) {
  const hook = renderHook(useApprovals, { wrapper: StrictMode, initialProps: options });
  const inbox = () => hook.result.current;
  const ids = () => inbox().approvals?.map(({ approvalId }) => approvalId);
  const loaded = (count: number) => until(`${count} entries`, () => inbox().approvals?.length === count);
  return { ...hook, inbox, ids, loaded };
}

describe("the inbox in pages", () => {
  it("loads one page, and the next ones when they are asked for", async () => {
    const { options } = fakeInbox(many(25));
    const { inbox, ids, loaded } = render({ ...options, pageSize: 10 });
    await loaded(10);
    expect(inbox()).toMatchObject({ hasMore: true, isLoadingMore: false });
    act(() => {
      inbox().loadMore();
      inbox().loadMore();
    });
    expect(inbox().isLoadingMore).toBe(true);
    await loaded(20);
    act(() => inbox().loadMore());
    await loaded(25);
    expect(inbox()).toMatchObject({ hasMore: false, isLoadingMore: false });
    expect(ids()).toEqual(many(25).map(({ approvalId }) => approvalId));
    act(() => inbox().loadMore());
    expect(inbox().isLoadingMore).toBe(false);
  });

  it("goes on after an empty page that has a next one", async () => {
    const { options } = fakeInbox(many(100), { scanned: 10 });
    const { inbox, ids } = render({ ...options, pageSize: 10, filter: { q: ":95" } });
    await until("the match", () => inbox().approvals?.length === 1);
    expect(ids()).toEqual(["approval_0095"]);
  });

  it("binds a decision to the input that was shown", async () => {
    const { options, decisions } = fakeInbox([approval(1, { inputSha256: "a1" }), approval(2)]);
    const { inbox, loaded } = render(options);
    await loaded(2);
    await act(() => inbox().decide("approval_0001", { approved: true }));
    await act(() => inbox().decide("approval_0002", { approved: false, inputSha256: "b2" }));
    expect(decisions).toEqual([
      { approved: true, inputSha256: "a1" },
      { approved: false, inputSha256: "b2" },
    ]);
  });

  it("sends the filter, and begins again with another one", async () => {
    const asked = [approval(1), approval(2, { toolName: "deploy", requestedBy: "bob" }), approval(3)];
    const { options, requests } = fakeInbox(asked);
    const filter = { tool: "deploy", chat: "chat_0002", requestedBy: "bob", q: "2" } as const;
    const { ids, loaded, rerender } = render({ ...options, filter });
    await loaded(1);
    expect(requests[0]).toBe("GET /api/approvals?limit=100&tool=deploy&chat=chat_0002&requested_by=bob&q=2");
    rerender({ ...options, filter: {} });
    await loaded(3);
    expect(ids()).toEqual(["approval_0001", "approval_0002", "approval_0003"]);
    const before = requests.length;
    // The same filter in another object reads nothing.
    rerender({ ...options, filter: { q: undefined } });
    expect(requests).toHaveLength(before);
  });

  it("keeps what is loaded when a chat changes, and reads only that chat", async () => {
    const { options, requests, set, tell } = fakeInbox(many(300));
    const { inbox, ids, loaded } = render({ ...options, pageSize: 100 });
    await loaded(100);
    act(() => inbox().loadMore());
    await loaded(200);
    const before = requests.length;

    set((open) => open.filter(({ approvalId }) => approvalId !== "approval_0150"));
    act(() => tell({ type: "approvals", chatId: "chat_0150" }));
    await loaded(199);
    expect(requests.slice(before)).toEqual(["GET /api/approvals?limit=1000&chat=chat_0150"]);
    // A new request belongs behind the last one that is loaded.
    set((open) => [...open, approval(400)]);
    act(() => tell({ type: "approvals", chatId: "chat_0400" }));
    await until("the read", () => requests.length === before + 2);
    expect(inbox()).toMatchObject({ hasMore: true });
    expect(ids()).toHaveLength(199);

    act(() => inbox().loadMore());
    await until("the third page", () => ids()?.includes("approval_0299"));
    expect(new Set(ids()).size).toBe(ids()?.length);
  });

  it("reads all that is loaded after events were missed", async () => {
    const { options, requests, set, tell } = fakeInbox(many(30));
    const { ids, inbox, loaded } = render({ ...options, pageSize: 10 });
    await loaded(10);
    act(() => inbox().loadMore());
    await loaded(20);
    set((open) => open.slice(5));
    const before = requests.length;
    act(() => tell({ type: "missed" }));
    await until("the list", () => ids()?.[0] === "approval_0005");
    expect(ids()).toHaveLength(20);
    expect(requests.slice(before)).toEqual(["GET /api/approvals?limit=20"]);
  });

  it("keeps what is loaded while the server is away, and says why", async () => {
    const { options, state, tell } = fakeInbox(many(3));
    const { inbox, loaded } = render({ ...options });
    await loaded(3);
    state.isDown = true;
    act(() => tell({ type: "approvals", chatId: "chat_0001" }));
    await until("the error", () => inbox().error?.code === "unreachable");
    expect(inbox().approvals).toHaveLength(3);
    expect(inbox().staleSince).toBeInstanceOf(Date);
    state.isDown = false;
    await until("the end of it", () => inbox().error === undefined && inbox().staleSince === undefined);
  });

  it("keeps a request that has one vote of two, and removes it when the decision is in force", async () => {
    const { options, state, set } = fakeInbox([approval(1, { votes: { by: [], quorum: 2 } }), approval(2)]);
    const { inbox, ids, loaded } = render({ ...options });
    await loaded(2);
    state.decision = { ok: true, votes: 1, quorum: 2 };
    set(([first, ...others]) => [{ ...first, votes: { by: ["bob"], quorum: 2 } } as typeof first, ...others] as never);
    await act(async () => {
      const settled = await inbox().decide("approval_0001", { approved: true });
      expect(settled).toMatchObject({ state: "voted", votes: 1, quorum: 2 });
    });
    await until("the vote", () => inbox().approvals?.[0]?.votes?.by.length === 1);
    expect(ids()).toEqual(["approval_0001", "approval_0002"]);
    expect(inbox().decisions.approval_0001).toMatchObject({ state: "voted" });
    state.decision = { ok: true };
    await act(async () => void (await inbox().decide("approval_0002", { approved: false })));
    expect(ids()).toEqual(["approval_0001"]);
  });

  it("sends what is to be remembered with an approval", async () => {
    let sent: unknown;
    const { options } = fakeInbox([approval(1)]);
    const spy: typeof fetch = (input, init) => {
      if (init?.method === "POST") sent = JSON.parse(String(init.body));
      return options.fetch(input, init);
    };
    const { inbox, loaded } = render({ ...options, fetch: spy });
    await loaded(1);
    const remember = { scope: "chat", match: "input", uses: 3 } as const;
    await act(async () => void (await inbox().decide("approval_0001", { approved: true, remember })));
    expect(sent).toEqual({ approved: true, remember });
    expect(inbox().decisions.approval_0001).toMatchObject({ state: "in-force", remember });
  });
});

describe("withChat", () => {
  const listed = [approval(1), approval(3), approval(5)];
  const ids = (list: readonly { approvalId: string }[]) => list.map(({ approvalId }) => Number(approvalId.slice(-4)));

  it("puts a new request where its time belongs", () => {
    expect(ids(withChat(listed, "chat_0004", [approval(4)], false))).toEqual([1, 3, 4, 5]);
    expect(ids(withChat(listed, "chat_0009", [approval(9)], false))).toEqual([1, 3, 5, 9]);
    expect(ids(withChat(listed, "chat_0009", [approval(9)], true))).toEqual([1, 3, 5]);
    expect(ids(withChat(listed, "chat_0000", [approval(0)], true))).toEqual([0, 1, 3, 5]);
  });

  it("changes a request in its place, removes what is gone, and leaves other chats alone", () => {
    const voted = approval(3, { votes: { by: ["bob"], quorum: 2 } });
    expect(withChat(listed, "chat_0003", [voted], false)).toEqual([listed[0], voted, listed[2]]);
    expect(ids(withChat(listed, "chat_0003", [], false))).toEqual([1, 5]);
    expect(withChat(listed, "chat_0007", [], false)).toEqual(listed);
  });
});

describe("fetchApproval", () => {
  const answering = (response: Response) => ({ baseUrl: "http://one.example", fetch: async () => response });

  it("reads one request", async () => {
    const paths: string[] = [];
    const spy: typeof fetch = async (input) => {
      paths.push(new URL(String(input)).pathname);
      return Response.json(approval(1));
    };
    expect(await createHoldpoint({ baseUrl: "http://one.example", fetch: spy }).approvals.get("a/1")).toEqual(
      approval(1),
    );
    expect(paths).toEqual(["/api/approvals/a%2F1"]);
  });

  it.each([
    [410, "too-late"],
    [404, "not-found"],
  ])("says by status %i that it has ended or does not exist", async (status, code) => {
    const problem = { type: `urn:holdpoint:problem:${code}`, title: "", status, detail: "the reason" };
    const asked = createHoldpoint(answering(Response.json(problem, { status }))).approvals.get("a");
    await expect(asked).rejects.toMatchObject({ status, code, reason: "the reason" });
  });
});

describe("useApproval", () => {
  it("follows one request until its call has an outcome, and says what came of it", async () => {
    const listeners = new Set<(event: ServerEvent) => void>();
    const events: EventsSource = {
      subscribe: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
    const open = { votes: { by: [] as string[], quorum: 2 } };
    let record: ApprovalRecord = { approval: approval(1, open), state: "waiting" };
    const paths: string[] = [];
    const respond: typeof fetch = async (input) => {
      paths.push(new URL(String(input)).pathname);
      return Response.json(record);
    };
    const options = { baseUrl: "http://followed.example", fetch: respond, events };
    const { result } = renderHook(() => useApproval("approval_0001", options));
    await until("it", () => result.current.isOpen);
    const change = (next: ApprovalRecord, type: "approvals" | "chat" = "approvals") => {
      record = next;
      act(() => {
        for (const listener of listeners) listener({ type, chatId: "chat_0001" });
      });
    };
    change({ approval: approval(1, { votes: { by: ["bob"], quorum: 2 } }), state: "waiting" });
    await until("the vote", () => result.current.approval?.votes?.by.length === 1);
    const decision = { kind: "approve", by: ["bob", "carol"], at: "2026-11-20T09:31:00.000Z" } as const;
    const decided = { approval: approval(1), decision: { ...decision, by: [...decision.by] } };
    change({ ...decided, state: "running" });
    await until("the end", () => result.current.isOpen === false);
    expect(result.current).toMatchObject({ approval: { chatId: "chat_0001" }, record: { decision }, error: undefined });
    const outcome = { cause: "ran", at: "2026-11-20T09:31:01.000Z", errorText: "The endpoint answered 500" } as const;
    change({ ...decided, state: "settled", outcome }, "chat");
    await until("the outcome", () => result.current.record?.outcome);
    expect(result.current.record?.outcome).toEqual(outcome);
    expect(listeners.size, "an outcome is final").toBe(0);
    expect(new Set(paths)).toEqual(new Set(["/api/approvals/approval_0001/record"]));
  });

  it("says that there is none, and reads nothing for no id", async () => {
    const problem = { type: "urn:holdpoint:problem:not-found", title: "", status: 404, detail: "no" };
    let requests = 0;
    const respond: typeof fetch = async () => {
      requests += 1;
      return Response.json(problem, { status: 404 });
    };
    const events: EventsSource = { subscribe: () => () => {} };
    const options = { baseUrl: "http://none.example", fetch: respond, events };
    const { result, rerender } = renderHook(({ id }) => useApproval(id, options), {
      initialProps: { id: undefined as string | undefined },
    });
    expect([result.current.isOpen, requests]).toEqual([undefined, 0]);
    rerender({ id: "approval_0009" });
    await until("the answer", () => result.current.isOpen === false);
    expect(result.current.error).toMatchObject({ status: 404 });
  });
});
