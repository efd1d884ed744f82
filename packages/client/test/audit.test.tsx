// @vitest-environment jsdom

import { act, cleanup, renderHook } from "@testing-library/react";
import { afterEach, describe, expect, it } from "vitest";
import { createHoldpoint } from "../src/index.js";
import type { AuditLine } from "../src/protocol.js";
import { useAudit, useGrants } from "../src/react/index.js";
import { until } from "./support/until.js";

afterEach(cleanup);

let servers = 0;
const events = { subscribe: () => () => {} };

/** A record of this many lines. */
function fakeRecord(count: number) {
  const requests: string[] = [];
  const lines = Array.from({ length: count }, (_, position) => ({ position, toolName: "deploy" }) as AuditLine);
  const respond: typeof fetch = async (input, init) => {
    init?.signal?.throwIfAborted();
    const { pathname, searchParams } = new URL(String(input));
    requests.push(`${pathname}?${searchParams}`);
    const after = Number(searchParams.get("after") ?? 0);
    const end = after + Number(searchParams.get("limit"));
    searchParams.set("after", String(end));
    const body = lines.slice(after, end).map((line) => `${JSON.stringify(line)}\n`);
    const headers = {
      "content-type": "application/x-ndjson",
      ...(end < count && { link: `<?${searchParams}>; rel="next"` }),
    };
    return new Response(body.join(""), { headers });
  };
  return { requests, options: { baseUrl: `http://record-${servers++}.example`, fetch: respond, events } };
}

describe("useAudit", () => {
  it("reads the record page by page, with its filter", async () => {
    const { options, requests } = fakeRecord(25);
    const filter = { subject: "carol", step: "decided", since: "2026-11-01T00:00:00Z" } as const;
    const { result } = renderHook(() => useAudit({ ...options, filter, pageSize: 10 }));
    expect(result.current).toMatchObject({ lines: undefined, isLoading: true });
    await until("a page", () => result.current.lines?.length === 10);
    expect(result.current.hasMore).toBe(true);
    expect(requests[0]).toBe("/api/audit?limit=10&subject=carol&step=decided&since=2026-11-01T00%3A00%3A00Z");
    act(() => result.current.loadMore());
    await until("the second page", () => result.current.lines?.length === 20);
    act(() => result.current.loadMore());
    await until("the last page", () => result.current.lines?.length === 25);
    expect(result.current).toMatchObject({ hasMore: false, isLoading: false });
    expect(result.current.lines?.map(({ position }) => position)).toEqual(Array.from({ length: 25 }, (_, at) => at));
    act(() => result.current.refresh());
    await until("the first page", () => result.current.lines?.length === 10);
  });

  it("says what the server refuses", async () => {
    const refuse: typeof fetch = async () => Response.json({ detail: "no" }, { status: 400 });
    const { result } = renderHook(() => useAudit({ baseUrl: "http://refusing.example", fetch: refuse, events }));
    await until("the error", () => result.current.error?.status === 400);
    expect(result.current).toMatchObject({ lines: undefined, isLoading: false });
  });
});

describe("audit", () => {
  it("reads up to a number of lines", async () => {
    const { options, requests } = fakeRecord(2_500);
    expect(await createHoldpoint(options).audit.list()).toHaveLength(1_000);
    expect(await createHoldpoint(options).audit.list({}, { limit: 0 })).toEqual([]);
    expect(requests).toHaveLength(1);
    expect(await createHoldpoint(options).audit.list({}, { limit: 2_200 })).toHaveLength(2_200);
    expect(await createHoldpoint(options).audit.list({}, { limit: 9_999 })).toHaveLength(2_500);
  });

  it("reads page by page, and no more than is asked for", async () => {
    const { options, requests } = fakeRecord(2_500);
    const { audit } = createHoldpoint(options);
    let count = 0;
    for await (const { position } of audit.lines({ tool: "deploy" })) {
      expect(position).toBe(count++);
      if (count === 1_500) break;
    }
    expect(requests).toHaveLength(2);
    for await (const _ of audit.lines()) count++;
    expect(count).toBe(4_000);
    const aborted = audit.lines({}, { signal: AbortSignal.abort() });
    await expect(aborted.next()).rejects.toMatchObject({ name: "AbortError" });
  });

  it("knows a web page when it sees one", async () => {
    const page: typeof fetch = async () => new Response("<html>", { headers: { "content-type": "text/html" } });
    await expect(createHoldpoint({ fetch: page }).audit.list()).rejects.toMatchObject({ code: "not-holdpoint" });
    const cut: typeof fetch = async () => new Response('{"position": 1}\n{"posi');
    await expect(createHoldpoint({ fetch: cut }).audit.list()).rejects.toMatchObject({ code: "not-holdpoint" });
  });
});

describe("useGrants", () => {
  it("lists them, revokes one, and reads again", async () => {
    let ids = ["grant_1", "grant_2"];
    const requests: string[] = [];
    const respond: typeof fetch = async (input, init) => {
      const { pathname } = new URL(String(input));
      requests.push(`${init?.method ?? "GET"} ${pathname}`);
      if (init?.method !== "DELETE") return Response.json(ids.map((id) => ({ id })));
      const id = decodeURIComponent(pathname.split("/").at(-1) ?? "");
      if (!ids.includes(id)) return Response.json({ detail: "none" }, { status: 404 });
      ids = ids.filter((other) => other !== id);
      return Response.json({ ok: true });
    };
    const { result } = renderHook(() => useGrants({ baseUrl: "http://grants.example", fetch: respond, events }));
    await until("the list", () => result.current.grants?.length === 2);
    await act(() => result.current.revoke("grant_1"));
    await until("the shorter list", () => result.current.grants?.length === 1);
    expect(requests).toContain("DELETE /api/grants/grant_1");
    await expect(result.current.revoke("grant_1")).rejects.toMatchObject({ status: 404 });
  });
});
